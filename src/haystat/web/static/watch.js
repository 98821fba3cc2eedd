// The numbers, live.

import { $, along, at, boot, byVersion, chart, count, get, goalText, listen, post, settling, several, shown, showEstimate, showParts } from "./common.js";
import { lookDifferences } from "./differences.js";

const drawSettling = chart($("chart"), settling(false));
const drawAlong = chart($("along"), along);
if ($("versions")) chart($("versions"), byVersion)(boot.versions);

function row(name, n) {
  const line = document.createElement("tr"), who = document.createElement("td"), how = document.createElement("td");
  who.textContent = name || "nameless";
  who.title = name;
  how.textContent = count(n);
  line.append(who, how);
  return line;
}

function people(found) {
  const rows = Object.entries(found.status.annotators).map(([name, n]) => row(name, n));
  if (rows.length) $("people").replaceChildren(...rows);
  const shared = found.agreement;
  $("agreement").textContent = shared
    ? `${several(shared.items, "item")} seen by two people: they agree on ${Math.round(shared.share * 100)}%${shared.kappa === null ? "" : ` (kappa ${shared.kappa.toFixed(2)})`}.`
    : "No item was seen by two people.";
}

function warnings(found) {
  const items = [...found.doubts, ...found.estimate.warnings].map((text) => { const item = document.createElement("li"); item.textContent = text; return item; });
  $("warning-list").replaceChildren(...items);
  $("warnings").hidden = !items.length;
}

/** Who holds open questions: the estimate counts every answer, but the next choice waits for these. */
function showOpen(found) {
  const n = found.held.reduce((sum, one) => sum + one.questions, 0);
  $("open").hidden = !found.pending;
  $("open-text").textContent = `${several(found.pending, "question")} wait${found.pending === 1 ? "s" : ""} for an answer. The estimate counts every answer that is there; what is asked next is chosen better once these are in.`;
  $("open-list").replaceChildren(...found.held.map((one) => { const item = document.createElement("li"); item.textContent = `${one.holder || "somebody"} holds ${count(one.questions)} until ${new Date(one.until).toLocaleTimeString()}`; return item; }));
  $("free").hidden = !n;
}
const lookOpen = () => get(at("/api/open")).then(showOpen).catch(() => {});
$("free").addEventListener("click", () => post(at("/api/free"), {}).then(showOpen).catch(() => {}));

const short = (score) => (score !== 0 && Math.abs(score) < 0.001 ? score.toExponential(0) : String(Number(score.toPrecision(3))));
const range = (bar) => short(bar.to);

listen((found) => {
  const goal = showEstimate(found), s = found.status;
  $("meaning").textContent = found.estimate.meaning;
  $("percent").textContent = goal.reached ? "Done" : `${Math.round(goal.share * 100)}%`;
  $("goal").textContent = goalText(goal);
  $("stop").classList.toggle("yes", goal.reached);
  $("stop-title").textContent = goal.reached ? "You can stop now." : "Go on labelling.";
  $("stop-why").textContent = goal.why;
  $("counts").textContent = `${several(s.labels, "label")} of ${count(s.size)} items; ${several(s.pending, "open question")}, ${count(s.skipped)} skipped.`;
  showParts(found.estimate, $("parts"));
  people(found);
  warnings(found);
  lookOpen();
  if ($("differences")) lookDifferences();
  drawSettling(found.points);
  drawAlong(found.along.map((bar, place) => ({ ...bar, range: range(bar), place })));
  document.title = `${shown(found.estimate.lead.value)} · ${boot.study}`;
}, (on) => { $("dot").className = `dot ${on ? "on" : "off"}`; $("state").textContent = on ? "live" : "away"; });

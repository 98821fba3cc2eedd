// The page where people answer: one key a label, the next question already here.

import { showAfter } from "./after.js";
import { markdown } from "./chat.js";
import { $, Refused, at, boot, chart, count, goalText, listen, post, settling, several, showEstimate, wait } from "./common.js";
import { openOutbox, send as sendLater, unsent } from "./outbox.js";
import { earlier, showHistory } from "./history.js";
import { showRecord, spoken, withLinks } from "./record.js";

const BATCH = 10; // questions of one stage; the design learns between stages
const RENEW = 100_000; // the server keeps a question for us for 5 minutes
const MOST_PAST = 60;

const kept = (name, otherwise) => { try { return JSON.parse(sessionStorage.getItem(name)) ?? otherwise; } catch { return otherwise; } };
const keep = (name, value) => { try { sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* private windows */ } };
function remembered() { try { return localStorage.getItem("haystat name"); } catch { return null; } }
function remember(name) { try { localStorage.setItem("haystat name", name); } catch { /* private windows */ } }
const local = (key) => `haystat ${boot.mark} ${key}`;
const randomName = () => Array.from(crypto.getRandomValues(new Uint8Array(4)), (b) => b.toString(16).padStart(2, "0")).join("");

let tab = kept("haystat tab", null) ?? randomName();
const seat = () => `tab ${tab}`; // what holds our questions, whatever we are called
let who = remembered() || `guest-${randomName().slice(0, 4)}`;
remember(who);

let queue = []; // questions to come, the one on the screen first
let past = kept(local("past"), []); // {question, answer}: what was answered here, the latest last
let back = 0; // how many answers we went back
let batch = { size: 0, done: 0 };
let fetching = false, ended = false, troubled = false, refused = [];

const current = () => (back ? past[past.length - back].question : queue[0]);
const answers = [...document.querySelectorAll(".answer")];
const number = $("number"); // where labels are numbers, or answers may be probabilities
const nameOfAnswer = (entry) => entry.answer === null || entry.answer === undefined ? "skipped" : boot.names[entry.answer] ?? String(entry.value);

function say(text, kind = "") { $("line").textContent = text; $("line").className = `line ${kind}`; }

function show() {
  const question = current();
  const open = Boolean(question);
  answers.forEach((button) => { button.disabled = !open; button.classList.remove("chosen"); button.removeAttribute("aria-pressed"); });
  if (number) { number.disabled = !open; number.value = ""; }
  $("undo").disabled = back >= past.length;
  $("skip").disabled = $("note").disabled = !open;
  if (!open) { showEmpty(); return; }
  showRecord($("record"), question, boot.images);
  $("record").parentElement.scrollTop = 0;
  if (back) showEarlier(past[past.length - back]);
  else {
    const place = Math.min(batch.done + 1, batch.size);
    $("place").textContent = `${place} of ${batch.size}`;
    $("record").setAttribute("aria-label", `Question ${place} of ${batch.size}. ${boot.prompt}`);
    $("heard").textContent = `${place} of ${batch.size}. ${spoken(question)}`;
  }
}

function showEarlier(entry) {
  $("place").textContent = `${back} back`;
  const was = nameOfAnswer(entry);
  say(`You answered “${was}”. Press another key to change it, → to leave it.`, "note");
  $("record").setAttribute("aria-label", `Answered ${was}. ${boot.prompt}`);
  const button = answers[entry.answer];
  if (button) { button.classList.add("chosen"); button.setAttribute("aria-pressed", "true"); }
}

function showEmpty() {
  $("place").textContent = "";
  if (!troubled && (unsent() || fetching || !ended)) return;
  const text = document.createElement("p");
  text.className = "lead";
  text.textContent = troubled
    ? "The next questions come when your answers are saved."
    : "Nothing left to ask for now: every item that matters has its label, or is in somebody else's hands.";
  $("record").replaceChildren(text);
}

// --- what goes to the server

function send(path, content) { return sendLater(path, { annotator: who, seat: seat(), ...content }); }

const outboxHooks = {
  saved(found) { if (found.after) tellAfter(found.after); else if (found.said?.length) reveal(found.said); },
  refused(error) { refused.push(error.message); say(error.message, "bad"); },
  trouble(error) {
    say(error.message ? `Not saved: ${error.message}` : "The server is away. Your answers are kept here and sent when it is back.", "bad");
    state(Boolean(error.message));
    troubled = true;
    if (!current()) showEmpty();
  },
  done(trouble) {
    troubled = false;
    if (trouble) { state(true); if (!refused.length) say("Connected again; everything is saved.", "good"); }
    if (queue.length <= 1) fetchMore();
  },
  unsaved(n) {
    const texts = [n ? `${several(n, "answer")} not saved yet` : "", refused.length ? `${several(refused.length, "answer")} refused` : ""];
    $("unsaved").textContent = texts.filter(Boolean).join(", ");
    $("unsaved").title = refused.join("\n");
  },
};

/** Questions for the next stage, before the last one of this stage is answered. */
async function fetchMore() {
  if (fetching || unsent()) return;
  fetching = true;
  let pause = 300;
  for (;;) {
    try {
      const held = queue.length;
      const { questions } = await post(at("/api/ask"), { n: BATCH + held, annotator: who, seat: seat() });
      take(questions);
      break;
    } catch (error) {
      if (error instanceof Refused) { say(error.message, "bad"); ended = true; break; }
      say(error.message ? `No questions now: ${error.message}` : "The server is away; trying again …", "bad");
      await wait(Math.max(pause, error.retry || 0));
      pause = Math.min(pause * 1.6, 4000);
    }
  }
  fetching = false;
  if (!queue.length) { ended = true; showEmpty(); setTimeout(fetchMore, 5000); }
}

function take(questions) {
  const known = new Set([...queue, ...past.map((entry) => entry.question)].map((question) => question.key));
  const fresh = questions.filter((question) => !known.has(question.key));
  const empty = !current();
  if (!queue.length) batch = { size: 0, done: 0 };
  queue.push(...fresh);
  if (!batch.size) nextBatch();
  if (fresh.length) ended = false;
  if (empty) { show(); if (queue.length && $("line").className === "line bad") say(""); }
}

function nextBatch() { batch = { size: queue.length, done: 0 }; }

// --- what people do

function answer(label) {
  if (!current() || label >= boot.classes.length) return;
  flash(label);
  give(label, boot.classes[label]);
}

function answerNumber() {
  if (!current() || number.value === "" || !number.checkValidity()) return say(`Type ${number.title.toLowerCase()}.`, "bad");
  give(-1, Number(number.value));
  number.focus();
}

function give(label, value) { // label: the place among the classes, -1 where it is none of them
  const question = current(), told = { item: question.item, key: question.key, label: value };
  if (!back) { record(question, label, value); return send("/api/tell", { answers: [told] }); }
  const entry = past[past.length - back], same = entry.answer === label && entry.value === value;
  Object.assign(entry, { answer: label, value });
  keep(local("past"), past);
  back -= 1;
  show();
  say(same ? "" : `Changed to “${nameOfAnswer(entry)}”.`, "good");
  if (!same) send("/api/tell", { answers: [told], correct: true, annotator: entry.who });
}

function record(question, label, value, reason = "") {
  queue.shift();
  past.push({ question, answer: label, value, reason, who });
  past = past.slice(-MOST_PAST);
  keep(local("past"), past);
  batch.done += 1;
  if (batch.done >= batch.size && queue.length) nextBatch();
  say("");
  show();
}

/** What was typed is kept, also where one of the ready reasons is chosen. */
function reasonGiven(ready = "") {
  const typed = $("reason").value.trim();
  $("reason").value = "";
  return [ready, typed].filter(Boolean).join(": ") || "cannot tell";
}

function skip(ready) {
  const question = current();
  $("skip-box").close();
  if (!question) return;
  const reason = reasonGiven(ready);
  if (back) { Object.assign(past[past.length - back], { answer: null, reason }); keep(local("past"), past); back -= 1; show(); }
  else record(question, null, null, reason);
  say(`Skipped: ${reason}.`, "good");
  send("/api/skip", { item: question.item, key: question.key, reason });
}

function remark() {
  const text = $("note-text").value.trim(), question = current();
  $("note-box").close();
  $("note-text").value = "";
  if (!text || !question) return;
  say("The remark is in the journal.", "good");
  send("/api/note", { item: question.item, text });
}

function undo() { if (back < past.length) { back += 1; show(); } }
function forward() { if (back) { back -= 1; say(""); show(); } }

async function history() {
  past = await earlier(past, who);
  showHistory(past, nameOfAnswer, (place) => { back = past.length - place; show(); $("record").focus({ preventScroll: true }); });
}

function rename() {
  const name = $("who-text").value.trim().replace(/\s+/g, " ");
  $("who-box").close();
  if (!name || name === who) return;
  who = name;
  remember(who);
  $("who-name").textContent = who;
  say(`You answer as ${who} from now on.`, "good");
}

function flash(label) {
  const button = answers[label];
  button.classList.add("chosen");
  setTimeout(() => { if (!back) button.classList.remove("chosen"); }, 140);
}

function reveal(said) {
  const texts = said.map((one) => `${one.system}: ${nameOf(one.prediction)} (${one.score.toPrecision(3)})`);
  say(`About the last one the system says ${texts.join(", ")}.`, "note");
}
/** What was kept back until the answer; of the latest answer that was saved. */
function tellAfter(told) {
  const entry = past.findLast((one) => String(one.question.item) === String(told.item));
  showAfter($("after"), told, entry && entry.answer !== null ? nameOfAnswer(entry) : null, nameOf);
}
const nameOf = (prediction) => boot.names[boot.classes.map(String).indexOf(prediction)] ?? prediction;

// --- keys and buttons

function open(id, focus) { $(id).showModal(); focus?.focus(); }
const opened = () => document.querySelector("dialog[open]");

const actions = {
  u: undo, arrowleft: undo, backspace: undo, arrowright: forward,
  s: () => current() && open("skip-box", $("reasons").firstElementChild),
  n: () => current() && open("note-box", $("note-text")),
  "?": () => open("help-box"), h: () => open("help-box"),
  o: history,
};

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.metaKey || event.ctrlKey || event.isComposing || event.repeat) return;
  const key = event.key.toLowerCase(), box = opened();
  if (box) { if (box.id === "skip-box" && event.target.tagName !== "INPUT" && /^[1-3]$/.test(key)) { event.preventDefault(); skip($("reasons").children[key - 1].dataset.reason); } return; }
  if (["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName)) return;
  const label = boot.keys.indexOf(key);
  const digit = boot.classes.length === 2 && /^[01]$/.test(key) ? Number(key) : -1;
  if (label >= 0 || digit >= 0) { event.preventDefault(); answer(label >= 0 ? label : digit); }
  else if (actions[key]) { event.preventDefault(); actions[key](); }
});

answers.forEach((button) => button.addEventListener("click", () => answer(Number(button.dataset.label))));
number?.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); answerNumber(); } });
$("undo").addEventListener("click", undo);
$("skip").addEventListener("click", actions.s);
$("note").addEventListener("click", actions.n);
$("help").addEventListener("click", actions["?"]);
$("history").addEventListener("click", history);
$("who").addEventListener("click", () => { $("who-text").value = who; open("who-box", $("who-text")); $("who-text").select(); });
$("who-ok").addEventListener("click", rename);
$("note-ok").addEventListener("click", remark);
$("skip-ok").addEventListener("click", () => skip());
for (const button of $("reasons").children) button.addEventListener("click", () => skip(button.dataset.reason));
$("who-text").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); rename(); } });
$("reason").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); skip(); } });
$("note-text").addEventListener("keydown", (event) => { if (event.key === "Enter" && event.ctrlKey) { event.preventDefault(); remark(); } });

// --- the estimate beside the question

const draw = chart($("chart"), settling(true));

function state(on) { $("dot").className = `dot ${on ? "on" : "off"}`; $("dot").parentElement.title = on ? "Connected. Your name, for the counts" : "The server is away"; }

if (boot.hidden) state(true); // blind: no numbers, and nothing to listen to
else listen((found) => {
  const goal = showEstimate(found);
  $("goal").textContent = goalText(goal);
  $("goal").parentElement.classList.toggle("done", goal.reached);
  const mine = found.status.annotators[who] ?? 0;
  $("counts").textContent = `${several(found.status.labels, "label")}, ${count(mine)} of them yours. ${found.status.skipped ? `${count(found.status.skipped)} skipped. ` : ""}${several(Object.keys(found.status.annotators).length, "person").replace("persons", "people")} so far.`;
  draw(found.points);
}, state);

// --- begin

/** A tab that was duplicated has the same name as its original: take another. Returns the others. */
async function ownTab() {
  const others = new Set();
  if (!("BroadcastChannel" in window)) return others;
  const channel = new BroadcastChannel("haystat tabs"), me = randomName();
  channel.onmessage = ({ data }) => {
    if (data.hello && data.me !== me) channel.postMessage({ here: tab, by: me });
    if (data.here && data.by !== me) others.add(data.here);
    if (data.hello === tab && data.me !== me) channel.postMessage({ taken: tab, by: me });
    if (data.taken === tab && data.by !== me && starting) { tab = randomName(); }
  };
  let starting = true;
  channel.postMessage({ hello: tab, me });
  await wait(40);
  starting = false;
  return others;
}

addEventListener("pagehide", () => { post(at("/api/release"), { annotator: who, seat: seat(), after: 6 }, true).catch(() => {}); });
addEventListener("pageshow", (event) => { if (event.persisted) fetchMore(); });
let renewed = Date.now();
/** Keep what is ours; after a long absence some of it may be in other hands. */
async function renew() {
  if (document.hidden || !queue.length || unsent() || fetching) return;
  renewed = Date.now();
  const { questions } = await post(at("/api/ask"), { n: queue.length, annotator: who, seat: seat() }).catch(() => ({ questions: queue }));
  const ours = new Set(questions.map((question) => question.key)), first = queue[0];
  queue = queue.filter((question) => ours.has(question.key));
  take(questions);
  if (!back && queue[0] !== first) show();
}
setInterval(renew, RENEW);
document.addEventListener("visibilitychange", () => { if (Date.now() - renewed > 2 * RENEW) renew(); });

$("who-name").textContent = who;
if (boot.guidelines) $("guidelines-text").replaceChildren(withLinks(markdown(boot.guidelines)));
const living = await ownTab();
keep("haystat tab", tab);
$("record").focus({ preventScroll: true });
await openOutbox(tab, living, outboxHooks);

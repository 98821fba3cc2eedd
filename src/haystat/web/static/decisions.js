// Where to cut, and whether requirements hold: asked for, not live.

import { $, at, Away, chart, count, get } from "./common.js";

const NAMES = ["precision", "recall"];

/** Precision and recall with their bands over the threshold, and the two cuts. */
export const cuts = (c) => ({
  encoding: { x: { field: "threshold", type: "quantitative", scale: { zero: false, nice: false }, axis: { title: "threshold", grid: false, tickCount: 8, labelOverlap: true } } },
  layer: [
    { transform: [{ filter: "datum.what != 'cut'" }], mark: { type: "area", opacity: 0.2 }, encoding: { y: { field: "low", type: "quantitative", scale: { domain: [0, 1] }, axis: { title: null, tickCount: 5, domain: false } }, y2: { field: "high" }, color: colours(c) } },
    { transform: [{ filter: "datum.what != 'cut'" }], mark: { type: "line", strokeWidth: 2 }, encoding: { y: { field: "value", type: "quantitative" }, color: colours(c), tooltip: [{ field: "threshold", format: ".4g" }, { field: "what", title: " " }, { field: "value", format: ".3f" }, { field: "low", format: ".3f" }, { field: "high", format: ".3f" }, { field: "predicted", title: "predicted positive", format: "," }] } },
    { transform: [{ filter: "datum.what == 'cut'" }], mark: { type: "rule", color: c.ink, strokeWidth: 1.5 }, encoding: { strokeDash: { field: "cut", type: "nominal", scale: { domain: ["certified", "in use"], range: [[1, 0], [4, 3]] }, legend: { title: null, orient: "top", symbolStrokeColor: c.ink } }, tooltip: [{ field: "cut", title: " " }, { field: "threshold", format: ".6g" }] } },
  ],
});

function colours(c) {
  return { field: "what", type: "nominal", scale: { domain: NAMES, range: [c.accent, c.soft] }, legend: { title: null, orient: "top" } };
}

/** One row for each cut and measure, and one for each cut that is marked. */
export function cutRows(found) {
  const rows = found.curve.flatMap((point) => NAMES.map((what) => ({ what, threshold: point.threshold, predicted: point.n_predicted, value: point[what], low: point[`${what}_low`], high: point[`${what}_high`] })));
  const marked = [["certified", found.certified], ["in use", found.own]].filter(([, point]) => point);
  return [...rows, ...marked.map(([cut, point]) => ({ what: "cut", cut, threshold: point.threshold }))];
}

const draw = chart($("cuts"), cuts);
const said = (error) => (error instanceof Away ? "The server is away; try again." : error.message);

async function showCut() {
  const need = $("cut-need").value;
  $("cut-sentence").textContent = "Looking at all cuts …";
  try {
    const found = await get(at("/api/threshold", { [need]: need === "f1" ? "best" : $("cut-value").value.replace(",", ".") }));
    $("cut-sentence").textContent = found.sentence;
    $("cut-own").textContent = found.in_use.map((one) => `In use: ${one.sentence}.`).join(" ");
    $("cuts").hidden = !found.curve.length;
    if (found.curve.length) draw(cutRows(found));
  } catch (error) { $("cut-sentence").textContent = said(error); }
}

async function showGate() {
  $("gate-sentence").textContent = "…";
  try {
    const found = await get(at("/api/gate", { require: $("gate-need").value }));
    const left = found.checks.map((check) => check.labels_left).filter((n) => n);
    const more = found.state === "undecided" && left.length ? ` About ${count(Math.max(...left))} more labels would tell.` : "";
    $("gate-sentence").textContent = found.sentence + more;
  } catch (error) { $("gate-sentence").textContent = said(error); }
}

$("cut-need").addEventListener("change", () => { $("cut-value").disabled = $("cut-need").value === "f1"; });
$("cut-form").addEventListener("submit", (event) => { event.preventDefault(); showCut(); });
$("gate-form").addEventListener("submit", (event) => { event.preventDefault(); showGate(); });

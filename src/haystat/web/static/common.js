// What all pages share: requests that survive a restart of the server, live numbers, charts.

export const boot = JSON.parse(document.body.dataset.boot || "null");
const meta = document.querySelector('meta[name="csrf"]');

export const $ = (id) => document.getElementById(id);
export const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** An address under this origin, about the study of this page. */
export function at(path, values = {}) {
  const url = new URL(path, location.origin);
  if (boot) url.searchParams.set("study", boot.study);
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  return url;
}

/** The server could not be reached, or was not able to answer: try again, after `retry` ms. */
export class Away extends Error {
  constructor(message = "", retry = 0) { super(message); this.retry = retry; }
}
const AGAIN = [401, 403, 408, 425, 429]; // not about what was sent
/** The server said no, and will say no again. */
export class Refused extends Error {
  constructor(message, status) { super(message); this.status = status; }
}

async function fetchOrAway(url, options) {
  let response;
  try { response = await fetch(url, options); } catch { throw new Away(); }
  if (response.status >= 500) throw await away(response);
  return response;
}

async function away(response) {
  const found = await response.json().catch(() => ({}));
  return new Away(found.error, 1000 * (Number(response.headers.get("retry-after")) || 0));
}

async function newToken() {
  const response = await fetchOrAway("/api/session", { credentials: "same-origin" });
  if (response.status === 401) { location.assign("/login"); throw new Away(); }
  meta.content = (await response.json()).csrf;
}

/** Send JSON (or a file) and read JSON. After a restart the server wants a new token: get one. */
export async function post(url, content, keepalive = false) {
  const file = content instanceof Blob;
  const send = () => fetchOrAway(url, {
    method: "POST", keepalive, credentials: "same-origin",
    headers: { "content-type": file ? "application/octet-stream" : "application/json", "x-haystat-csrf": meta.content },
    body: file ? content : JSON.stringify(content),
  });
  let response = await send();
  if (response.status === 401 || response.status === 403) { await newToken(); response = await send(); }
  return answer(response);
}

export async function get(url) {
  return answer(await fetchOrAway(url, { credentials: "same-origin" }));
}

async function answer(response) {
  if (AGAIN.includes(response.status)) throw await away(response);
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(found.error || `the server says ${response.status}`, response.status);
  return found;
}

/** Listen to the numbers of the study while the page is looked at. */
export function listen(onSnapshot, onState) {
  let source = null, timer = 0;
  const open = () => {
    clearTimeout(timer);
    if (source || document.hidden) return;
    source = new EventSource(at("/api/events"));
    source.addEventListener("open", () => onState(true));
    source.addEventListener("snapshot", (event) => onSnapshot(JSON.parse(event.data)));
    source.addEventListener("error", () => { onState(false); close(); timer = setTimeout(open, 1500); });
  };
  const close = () => { source?.close(); source = null; };
  document.addEventListener("visibilitychange", () => { if (document.hidden) { clearTimeout(timer); close(); } else open(); });
  addEventListener("pagehide", close);
  open();
}

export const shown = (value) => (value === null || value === undefined ? "–" : Math.abs(value) >= 100 ? value.toFixed(1) : value.toFixed(3));
export const count = (n) => n.toLocaleString("en");
export const several = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** Value, interval, ruler and progress, which two pages show alike. */
export function showEstimate(found) {
  const first = found.estimate.lead, goal = found.progress;
  const known = first.value !== null;
  $("measure").textContent = first.name;
  $("value").textContent = shown(first.value);
  $("range").textContent = known && first.low !== null
    ? `${shown(first.low)} to ${shown(first.high)}, ${Math.round(found.estimate.level * 100)}%`
    : "not known yet";
  const [low, high] = found.estimate.bounds, finite = low !== null && high !== null && known && first.low !== null;
  const part = (value) => Math.min(Math.max((value - low) / (high - low), 0), 1) * 100;
  const band = $("ruler-band").style, mark = $("ruler-mark").style;
  band.left = finite ? `${part(first.low)}%` : "0";
  band.width = finite ? `${part(first.high) - part(first.low)}%` : "0";
  mark.left = finite ? `${part(first.value)}%` : "0";
  mark.opacity = finite ? "1" : "0";
  $("ruler").setAttribute("aria-label", finite ? `${shown(first.value)} on a range from ${low} to ${high}` : "No interval yet");
  $("share").value = goal.share;
  return goal;
}

/** Every component in a table of its own, where there are several and not too many. */
export function showParts(estimate, body) {
  const rows = estimate.components.length === estimate.n_components ? estimate.components : [];
  body.closest(".card").hidden = rows.length < 2;
  body.replaceChildren(...rows.map((one) => {
    const line = document.createElement("tr");
    for (const text of [one.name, shown(one.value), one.low === null ? "not known yet" : `${shown(one.low)} to ${shown(one.high)}`]) line.insertCell().textContent = text;
    return line;
  }));
}

export function goalText(goal) {
  if (goal.reached) return `You can stop now. ${goal.why}`;
  if (goal.expected === null) return `Not enough answers yet to tell how many more it takes.`;
  if (goal.width <= goal.wanted) return `${goal.why} Give at least ${several(goal.expected, "more label")}.`;
  return `About ${several(goal.expected, "more label")} until the interval, ${goal.width.toFixed(3)} wide now, is no wider than ${goal.wanted}.`;
}

let library = null;
/** The charting library, loaded when the first chart is drawn. */
function vega() {
  library ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "/static/vega.js";
    script.type = "module";
    script.onload = () => done(window.vegaEmbed);
    script.onerror = failed;
    document.head.append(script);
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

/** A chart that takes new values; `spec` makes the Vega-Lite document from the colours. */
export function chart(box, spec) {
  let view = null, values = [], drawing = null;
  const colours = () => Object.fromEntries(["ink", "soft", "faint", "rule", "accent"].map((n) => [n, colour(`--${n}`)]));
  async function draw() {
    const embed = await vega(), c = colours();
    const look = {
      background: "transparent", view: { stroke: null }, font: "system-ui, sans-serif",
      axis: { labelColor: c.soft, titleColor: c.soft, gridColor: c.rule, domainColor: c.rule, tickColor: c.rule, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400 },
      legend: { labelColor: c.soft, titleColor: c.soft, labelFontSize: 12 },
    };
    const full = { width: "container", height: "container", autosize: { type: "fit", contains: "padding" }, data: { name: "table", values }, config: look, ...spec(c) };
    view?.finalize();
    const made = await embed(box, full, { mode: "vega-lite", actions: false, ast: true, renderer: "canvas", defaultStyle: false, tooltip: { disableDefaultStyle: true } });
    view = made.view;
  }
  const redraw = () => { drawing = (drawing ?? Promise.resolve()).then(draw).catch(() => {}); return drawing; };
  dark.addEventListener("change", redraw);
  let width = 0;
  new ResizeObserver(() => { if (view && box.clientWidth !== width && box.clientWidth) { width = box.clientWidth; view.resize().runAsync(); dispatchEvent(new Event("resize")); } }).observe(box);
  return async (next) => {
    values = next;
    if (!box.clientWidth || !values.length) return;
    if (!drawing) { width = box.clientWidth; await redraw(); } else { await drawing; if (!view) return; view.data("table", values); await view.runAsync(); }
  };
}

/** The estimate and its interval against labels. */
export const settling = (small) => (c) => ({
  layer: [
    { mark: { type: "area", color: c.accent, opacity: 0.22, interpolate: "monotone" },
      encoding: { y: { field: "low", type: "quantitative" }, y2: { field: "high" } } },
    { mark: { type: "line", color: c.accent, strokeWidth: 2, interpolate: "monotone" },
      encoding: { y: { field: "value", type: "quantitative" } } },
    { mark: { type: "point", color: c.accent, filled: true, size: small ? 18 : 34, opacity: small ? 0 : 1 },
      encoding: { y: { field: "value", type: "quantitative", scale: { zero: false, nice: true }, axis: { title: null, tickCount: small ? 3 : 6, domain: false } },
        tooltip: [{ field: "labels", title: "labels" }, { field: "value", format: ".3f" }, { field: "low", format: ".3f" }, { field: "high", format: ".3f" }] } },
  ],
  encoding: { x: { field: "labels", type: "quantitative", scale: { zero: false, nice: false }, axis: { title: "labels", grid: false, tickCount: small ? 3 : 8, format: "~s" } } },
});

/** The estimate and its interval, version by version. */
export const byVersion = (c) => ({ ...settling(false)(c),
  encoding: { x: { field: "name", type: "ordinal", sort: null, axis: { title: null, labelAngle: 0, labelOverlap: true } } } });

/** Shares of items and labels along the score. */
export const along = (c) => ({
  transform: [{ fold: ["items_share", "labels_share"], as: ["of", "share"] },
    { calculate: "datum.of == 'items_share' ? 'of all items' : 'of the labels'", as: "what" }],
  mark: { type: "bar", cornerRadiusEnd: 2 },
  encoding: {
    x: { field: "range", type: "nominal", sort: { field: "place", op: "min" }, axis: { title: "score up to", labelAngle: 0, labelOverlap: true } },
    xOffset: { field: "what", sort: ["of all items", "of the labels"] },
    y: { field: "share", type: "quantitative", axis: { title: "share", format: "%", tickCount: 5, domain: false } },
    color: { field: "what", type: "nominal", scale: { domain: ["of all items", "of the labels"], range: [c.faint, c.accent] }, legend: { title: null, orient: "top" } },
    tooltip: [{ field: "range", title: "score" }, { field: "items", title: "items", format: "," }, { field: "labels", title: "labels" }, { field: "positives", title: "positives" }],
  },
});

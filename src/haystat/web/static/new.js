// A new study: choose a file, say what its columns hold and what to find out.

import { $, Away, count, get, post } from "./common.js";
import { checkbox } from "./element.js";
import { further, offerColumns, offerFiles, signals } from "./known.js";
import { offerSystems, systems } from "./systems.js";

const NONE = "(none)", PAUSE = 800; // milliseconds
let file = "", planning = 0, soon = 0, pictures = [];

const failed = (error) => { $("error").textContent = error instanceof Away ? "The server is away; try again." : error.message; $("error").hidden = false; };
const options = (id, names, chosen) => { $(id).replaceChildren(...names.map((name) => new Option(name === "" ? NONE : name, name, false, name === chosen))); };

async function listFiles(chosen = "") {
  const { files } = await get("/api/files");
  offerFiles(files);
  $("file").replaceChildren(new Option("choose …", ""), ...files.map((name) => new Option(name, name, false, name === chosen)));
}

async function choose(name) {
  $("error").hidden = true;
  file = "";
  for (const id of ["columns", "wish", "last"]) $(id).disabled = true;
  if (!name) return;
  try {
    const found = await get(`/api/preview?${new URLSearchParams({ file: name })}`);
    file = name;
    preview(found.columns);
    fill(found.columns, found.guess);
    if (!$("name").value) $("name").value = name.replace(/\.[^.]+$/, "").replace(/[^\p{L}\p{N} -]+/gu, "-");
    for (const id of ["columns", "wish", "last"]) $(id).disabled = false;
    changed();
  } catch (error) { $("last").disabled = false; failed(error); }
}

function preview(columns) {
  const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  for (const column of columns) {
    const cell = document.createElement("th"), kind = document.createElement("small");
    cell.scope = "col";
    kind.textContent = column.type;
    cell.append(column.name, kind);
    head.append(cell);
  }
  const n = Math.max(0, ...columns.map((column) => column.values.length));
  for (let k = 0; k < n; k++) {
    const line = body.insertRow();
    for (const column of columns) line.insertCell().textContent = column.values[k] ?? "—";
  }
  $("preview").replaceChildren(table);
}

function fill(columns, guess) {
  const names = columns.map((column) => column.name), numbers = columns.filter((column) => column.type === "number").map((column) => column.name);
  pictures = guess.images;
  options("score", numbers.length ? numbers : names, guess.score);
  options("id", ["", ...names], guess.id ?? "");
  offerColumns(numbers, names, changed);
  offerSystems(numbers, names, changed);
  options("prediction", ["", ...names], guess.prediction ?? "");
  $("show").replaceChildren(...names.map((name) => checkbox(name, guess.show.includes(name))));
}

const listed = (id) => $(id).value.split(",").map((part) => part.trim()).filter(Boolean);

function wish() {
  const number = (id) => ($(id).value.trim() === "" ? null : Number($(id).value.replace(",", ".")));
  const threshold = number("threshold"), wanted = number("wanted");
  const show = [...document.querySelectorAll("#show input:checked:enabled")].map((box) => box.value);
  const given = {
    file, score: $("score").value, id: $("id").value, prediction: $("prediction").value,
    systems: systems(), multi_label: $("multi-label").checked, show,
    images: show.filter((name) => pictures.includes(name)),
    measure: $("measure").value, design: $("design").value, prompt: $("prompt").value.trim(),
    names: [$("no").value.trim() || "No", $("yes").value.trim() || "Yes"],
    reveal: $("reveal").checked, blind: $("blind").checked, second: $("second").checked ? 0.1 : 0,
  };
  Object.assign(given, further());
  const classes = listed("classes"), keys = listed("keys").map((key) => key.toLowerCase());
  const unnamed = given.names.join() === "No,Yes";
  if (classes.length) Object.assign(given, { classes, names: classes.length === 2 && !unnamed ? given.names : classes });
  if (keys.length) given.keys = keys;
  given.guidelines = $("guidelines").value.trim();
  if (threshold !== null) given.threshold = threshold;
  if (wanted !== null) given.wanted = wanted;
  return given;
}

function planned(found) {
  const random = `Labelling at random would take about ${count(found.passive)}.`;
  if (found.labels === null) return `More than ${count(found.cap)} labels are expected for an interval ${found.width} wide. ${random} A wider interval takes far fewer.`;
  const range = found.low === null ? "" : `, likely between ${count(found.low)} and ${found.high === null ? "many more" : count(found.high)}`;
  return `About ${count(found.labels)} labels are expected${range}. ${random}`;
}

/** How many labels it will take, while the form is being filled in. */
async function plan() {
  const box = $("plan");
  if (!box || !file) return;
  const mine = ++planning;
  box.textContent = "Working out how many labels it takes …";
  try {
    const found = await post("/api/plan", wish());
    if (mine !== planning) return;
    box.textContent = planned(found);
  } catch (error) { if (mine === planning) box.textContent = error.message || "No plan yet."; }
}

/** Nobody sees a score, a prediction or a signal, and what is evaluated is no signal. */
function changed() {
  const said = [{ score: $("score").value, prediction: $("prediction").value }, ...systems()].flatMap((one) => [one.score, one.prediction]);
  const disable = (list, names) => { for (const box of document.querySelectorAll(`#${list} input`)) box.disabled = names.includes(box.value); };
  disable("signals", [...said, $("id").value]);
  disable("show", [...said, ...signals()]);
  // A plan takes seconds, and the next one waits for it: one for each pause.
  clearTimeout(soon);
  soon = setTimeout(plan, PAUSE);
}

async function upload(chosen) {
  $("error").hidden = true;
  const bar = $("uploading");
  bar.hidden = false;
  bar.removeAttribute("value");
  try {
    const found = await post(`/api/upload?${new URLSearchParams({ name: chosen.name })}`, chosen);
    await listFiles(found.file);
    await choose(found.file);
  } catch (error) { $("last").disabled = false; failed(error); }
  bar.hidden = true;
}

$("file").addEventListener("change", () => choose($("file").value));
$("upload").addEventListener("change", () => { const [chosen] = $("upload").files; if (chosen) upload(chosen); });
for (const id of ["score", "id", "prediction", "measure", "design", "wanted", "threshold", "classes"]) $(id).addEventListener("change", changed);
$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("error").hidden = true;
  $("create").disabled = true;
  $("create").textContent = "Making it …";
  try {
    const made = await post("/api/studies", { ...wish(), name: $("name").value.trim() });
    location.assign(`/label?${new URLSearchParams({ study: made.study })}`);
  } catch (error) { failed(error); }
  $("create").disabled = false;
  $("create").textContent = "Make the study";
});
listFiles().catch(failed);

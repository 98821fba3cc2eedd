// The next version of the study, from a file of the same columns, and what the last one changed.

import { $, at, get, post } from "./common.js";

async function listFiles(chosen = "") {
  const { files } = await get("/api/files");
  $("next-file").replaceChildren(new Option("choose …", ""), ...files.map((name) => new Option(name, name, false, name === chosen)));
}

/** Do something that may be refused, with the button off meanwhile. */
async function attempt(what) {
  $("next-error").hidden = true;
  $("next-make").disabled = true;
  try { await what(); } catch (error) { $("next-error").textContent = error.message || "The server is away; try again."; $("next-error").hidden = false; }
  $("next-make").disabled = false;
}

async function make() {
  const given = { file: $("next-file").value, name: $("next-name").value.trim(), ask_again: $("next-again").checked ? 0.05 : 0 };
  if (!given.file) throw new Error("Choose the file that has the items as the next version scores them, or upload it.");
  if (!given.name) throw new Error("Give the version a name.");
  const made = await post(at("/api/next"), given);
  location.assign(`/watch?${new URLSearchParams({ study: made.study })}`);
}

/** How far the model, and how far the data, made the last version another than the one before. */
async function showChange() {
  $("change").hidden = false;
  $("change").textContent = "Comparing the two versions …";
  try { $("change").textContent = (await get(at("/api/change"))).sentence; } catch (error) { $("change").textContent = error.message || "The server is away; try again."; }
}

$("change-show")?.addEventListener("click", showChange);
$("next-form").addEventListener("submit", (event) => { event.preventDefault(); attempt(make); });
$("next-upload").addEventListener("change", () => attempt(async () => {
  const [chosen] = $("next-upload").files;
  if (chosen) await listFiles((await post(`/api/upload?${new URLSearchParams({ name: chosen.name })}`, chosen)).file);
}));
listFiles().catch(() => {});

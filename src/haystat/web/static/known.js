// The part of the form about what else is known: signals, labels that people already have, weights.

import { $ } from "./common.js";
import { checkbox } from "./element.js";

const NONE = new Option("(none)", "");

/** Files that may hold known labels. */
export function offerFiles(files) {
  const chosen = $("known").value;
  $("known").replaceChildren(NONE.cloneNode(true), ...files.map((name) => new Option(name, name, false, name === chosen)));
}

/** Columns of the pool: numbers may be weights, any may be a signal. */
export function offerColumns(numbers, names, changed) {
  $("weight").replaceChildren(NONE.cloneNode(true), ...numbers.map((name) => new Option(name, name)));
  $("signals").replaceChildren(...names.map((name) => checkbox(name, false)));
  $("signals").onchange = changed;
}

/** Columns that are chosen as signals. */
export const signals = () => [...document.querySelectorAll("#signals input:checked:enabled")].map((box) => box.value);

/** What the form says about them. */
export function further() {
  const found = { signals: signals() };
  if ($("weight").value) found.weight = $("weight").value;
  if (!$("known").value) return found;
  found.known = $("known").value;
  found.known_as = $("known-as").value;
  const chance = $("inclusion").value.trim().replace(",", ".");
  if (found.known_as === "sample" && chance) found.inclusion = Number(chance);
  return found;
}

$("known-as").addEventListener("change", () => { $("inclusion").disabled = $("known-as").value !== "sample"; });

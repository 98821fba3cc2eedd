// The part of the form about labels that people already have, and about weights.

import { $ } from "./common.js";

const NONE = new Option("(none)", "");

/** Files that may hold known labels. */
export function offerFiles(files) {
  const chosen = $("known").value;
  $("known").replaceChildren(NONE.cloneNode(true), ...files.map((name) => new Option(name, name, false, name === chosen)));
}

/** Columns of the pool that may be weights. */
export function offerWeights(names) {
  $("weight").replaceChildren(NONE.cloneNode(true), ...names.map((name) => new Option(name, name)));
}

/** What the form says about them. */
export function further() {
  const found = {};
  if ($("weight").value) found.weight = $("weight").value;
  if (!$("known").value) return found;
  found.known = $("known").value;
  found.known_as = $("known-as").value;
  const chance = $("inclusion").value.trim().replace(",", ".");
  if (found.known_as === "sample" && chance) found.inclusion = Number(chance);
  return found;
}

$("known-as").addEventListener("change", () => { $("inclusion").disabled = $("known-as").value !== "sample"; });

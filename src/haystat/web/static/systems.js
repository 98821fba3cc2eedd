// The part of the form about further systems, each with its own columns.

import { $ } from "./common.js";
import { element } from "./element.js";

let scores = [], every = [], changed = () => {}, number = 0;

function choice(title, names) {
  const box = element("div"), label = element("label", "", title), select = element("select");
  select.id = label.htmlFor = `system-${++number}`;
  select.replaceChildren(...names.map((name) => new Option(name === "" ? "(none)" : name, name)));
  select.addEventListener("change", () => changed());
  box.append(label, select);
  return box;
}

function add() {
  const row = element("div", "three system"), away = element("button", "button", "Remove");
  away.type = "button";
  away.addEventListener("click", () => { row.remove(); changed(); });
  row.append(choice("Score of another system", scores), choice("Its prediction", ["", ...every]), away);
  $("systems").append(row);
  row.querySelector("select").focus();
  changed();
}

/** Columns of a new file; systems of the last one are forgotten. */
export function offerSystems(numbers, names, then) {
  [scores, every, changed] = [numbers, names, then];
  $("systems").replaceChildren();
  $("add-system").disabled = numbers.length < 2;
}

/** What the form says about them. */
export const systems = () => [...document.querySelectorAll("#systems .system")].map((row) => {
  const [score, prediction] = [...row.querySelectorAll("select")].map((select) => select.value);
  return { score, prediction };
});

$("add-system").addEventListener("click", add);

// The part of the form about further systems, each with its own columns.

import { $ } from "./common.js";
import { element } from "./element.js";

let scores = [], every = [], changed = () => {}, number = 0;
const WORDS = {
  false: ["Another system, to evaluate beside it", "Score of another system", "Score"],
  true: ["Another label", "Score of another label", "Score of the first label"],
};

function choice(title, names) {
  const box = element("div"), label = element("label", "", title), select = element("select");
  select.id = label.htmlFor = `system-${++number}`;
  select.replaceChildren(...names.map((name) => new Option(name === "" ? "(none)" : name, name)));
  select.addEventListener("change", () => changed());
  box.append(label, select);
  return box;
}

function add() {
  const taken = [$("score").value, ...systems().map((one) => one.score)];
  const row = element("div", "three system"), away = element("button", "button", "Remove");
  away.type = "button";
  away.addEventListener("click", () => { row.remove(); changed(); });
  row.append(choice("", scores), choice("Its prediction", ["", ...every]), away);
  $("systems").append(row);
  row.querySelector("select").value = scores.find((name) => !taken.includes(name)) ?? scores[0];
  row.querySelector("select").focus();
  retitle();
}

/** What the columns of scores are: systems, or labels that an item may have. */
function retitle() {
  const [button, further, first] = WORDS[$("multi-label").checked];
  $("add-system").textContent = button;
  document.querySelector("label[for=score]").textContent = first;
  for (const row of document.querySelectorAll("#systems .system")) row.querySelector("label").textContent = further;
  changed();
}

/** Columns of a new file; systems of the last one are forgotten. */
export function offerSystems(numbers, names, then) {
  [scores, every, changed] = [numbers, names, then];
  $("systems").replaceChildren();
  $("add-system").disabled = $("multi-row").hidden = numbers.length < 2;
  $("multi-label").checked = false;
  retitle();
}

/** What the form says about them. */
export const systems = () => [...document.querySelectorAll("#systems .system")].map((row) => {
  const [score, prediction] = [...row.querySelectorAll("select")].map((select) => select.value);
  return { score, prediction };
});

$("add-system").addEventListener("click", add);
$("multi-label").addEventListener("change", retitle);

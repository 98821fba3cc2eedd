// Questions in a notebook: the cards of the page, answered by keyboard.

import { showRecord } from "./record.js";

const made = (kind, className, text = "") => Object.assign(document.createElement(kind), { className, textContent: text });
const shown = (value) => (Math.abs(value) >= 100 ? value.toFixed(1) : value.toFixed(3));

function button(key, name, act) {
  const box = made("button", "");
  box.type = "button";
  box.append(made("kbd", "", key.toUpperCase()), made("span", "", name));
  box.addEventListener("click", act);
  return box;
}

/** Called by the notebook for every place where the widget is shown. */
export function render({ model, el }) {
  const root = made("div", "haystat-widget"), title = made("div", "prompt", model.get("prompt")), record = made("div", "record");
  const side = made("div", "so-far"), line = made("div", "line"), keys = made("div", "keys");
  const classes = model.get("names"), letters = model.get("hotkeys");
  const answer = (place) => model.send({ answer: place });
  const go = (step) => model.send({ go: step });
  const skip = () => model.send({ skip: "cannot tell" });
  const buttons = classes.map((name, place) => button(letters[place] ?? "", name, () => answer(place)));
  const number = classes.length ? null : Object.assign(made("input", ""), { type: "number", step: "any", placeholder: "number, then Enter" });
  keys.append(...buttons, ...(number ? [number] : []), button("u", "Back", () => go(1)), button("s", "Skip", skip));
  root.tabIndex = 0;
  root.dataset.lmSuppressShortcuts = "true"; // keys are ours while the widget has the focus
  root.append(title, side, line, record, keys);

  function show() {
    const view = model.get("view"), question = view.question;
    const found = view.estimate;
    side.textContent = found ? `${found.name} ${shown(found.value)}, ${shown(found.low)} to ${shown(found.high)} · ${view.labels} labels` : `${view.labels} labels`;
    line.textContent = view.back ? `${view.back} back: press a key to change the answer, → to leave it` : "";
    if (question) showRecord(record, question, []);
    else record.replaceChildren(made("p", "lead", "Nothing left to ask."));
    buttons.forEach((one) => { one.disabled = !question; });
  }
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.ctrlKey || event.isComposing) return;
    const key = event.key.toLowerCase();
    if (event.target === number) {
      if (key === "enter" && number.value !== "") { answer(Number(number.value)); number.value = ""; }
      event.stopPropagation();
      return;
    }
    const place = letters.indexOf(key), acts = { u: () => go(1), arrowleft: () => go(1), arrowright: () => go(-1), s: skip };
    if (place < 0 && !acts[key]) return;
    event.preventDefault();
    event.stopPropagation();
    if (place >= 0) answer(place);
    else acts[key]();
  });
  model.on("change:view", show);
  show();
  el.append(root);
  return () => model.off("change:view", show);
}

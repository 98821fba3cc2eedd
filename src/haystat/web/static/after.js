// What waits until a person has answered: the judge's verdict and reasons, beside the own answer.

import { element } from "./element.js";
import { markdown } from "./chat.js";

const titled = (name) => name.replace(/_/g, " ");

/** Fill `box` with what is told about an item after its answer: {item, record, said}. */
export function showAfter(box, told, answer, nameOf) {
  const parts = [];
  const others = told.said.filter((one) => answer !== null && nameOf(one.prediction) !== answer);
  const head = element("p", others.length ? "verdict differs" : "verdict");
  const said = told.said.map((one) => `${told.said.length > 1 ? `${one.system} ` : ""}says ${nameOf(one.prediction)}`).join(", ");
  head.append(element("strong", "", others.length ? "The judge disagrees" : "The judge agrees"), document.createTextNode(`: it ${said}; you said ${answer ?? "nothing"}.`));
  parts.push(element("h2", "", `Item ${told.item}`), head);
  for (const [name, value] of Object.entries(told.record)) {
    const text = String(value ?? "");
    if (!text) continue;
    const fold = element("details", "fold");
    fold.open = others.length > 0;
    fold.append(element("summary", "", titled(name)), markdown(text));
    parts.push(fold);
  }
  box.replaceChildren(...parts);
  box.hidden = false;
}

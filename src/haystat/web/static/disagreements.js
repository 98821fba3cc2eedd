// Where people and the judge differ: a list, and the whole of an item when it is opened.

import { showAfter } from "./after.js";
import { $, at, boot, get, several } from "./common.js";
import { element } from "./element.js";
import { showRecord } from "./record.js";

const nameOf = (value) => boot.names[boot.classes.map(String).indexOf(String(value))] ?? String(value);

function entry(one) {
  const box = element("details", "disagreement");
  const head = element("summary");
  head.append(element("strong", "", String(one.item)), document.createTextNode(` ${one.annotator || "somebody"} says ${nameOf(one.label)}, ${one.system} says ${nameOf(one.predicted)} (${one.score.toPrecision(3)})`));
  box.append(head);
  box.addEventListener("toggle", () => {
    if (!box.open || box.children.length > 1) return;
    const record = element("div", "record"), after = element("section", "after");
    showRecord(record, one, boot.images);
    showAfter(after, { item: one.item, record: one.after, said: [{ system: one.system, prediction: one.predicted, score: one.score }] }, nameOf(one.label), nameOf);
    box.append(record, after);
  });
  return box;
}

const found = await get(at("/api/disagreements"));
$("total").textContent = `${several(found.total, "disagreement")} in ${several(found.answers, "answer")}${found.total > found.disagreements.length ? `; the newest ${found.disagreements.length} are listed` : ""}.`;
$("list").replaceChildren(...found.disagreements.map(entry));

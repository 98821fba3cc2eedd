// Where people differ: every item with what each of them said, until somebody decides.

import { $, at, boot, get, post, several } from "./common.js";
import { element } from "./element.js";
import { showRecord } from "./record.js";

const nameOf = (value) => boot.names[boot.classes.map(String).indexOf(String(value))] ?? String(value);

const me = () => { try { return localStorage.getItem("haystat name") || "manager"; } catch { return "manager"; } };

function entry(one) {
  const box = element("li", "difference"), record = element("div", "record"), row = element("p", "row");
  box.append(element("p", "", one.opinions.map((said) => `${said.annotator || "somebody"} says ${nameOf(said.label)}`).join(", ")));
  showRecord(record, one, boot.images);
  for (const [k, value] of boot.classes.entries()) {
    const button = element("button", "", `It is: ${boot.names[k]}`);
    button.type = "button";
    button.addEventListener("click", async () => {
      for (const other of row.children) other.disabled = true;
      try { show(await post(at("/api/decide"), { item: one.item, label: value, annotator: me() }).then(() => get(at("/api/differences")))); }
      catch (error) { row.replaceChildren(element("span", "warn", error.message || "The server is away; try again.")); }
    });
    row.append(button);
  }
  box.append(record, row);
  return box;
}

function show(found) {
  $("differences").hidden = !found.total;
  $("differences-text").textContent = `${several(found.total, "item")} that two people answered differently. The first answer counts until you decide; the journal keeps all of them.`;
  $("differences-list").replaceChildren(...found.differences.map(entry));
}

/** Look again; not while somebody is about to decide. */
export const lookDifferences = () => $("differences").contains(document.activeElement) || get(at("/api/differences")).then(show).catch(() => {});

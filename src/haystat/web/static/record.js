// An item as people see it. Every text becomes a text node: nothing in a record is ever markup.

import { at } from "./common.js";
import { chat, messagesIn, spokenChat } from "./chat.js";
import { differences } from "./diff.js";
import { element } from "./element.js";

const SIDES = [["_l", "_r"], ["_left", "_right"]];

const spelt = (value) => (value === null || value === undefined ? "" : String(value));
const titled = (name) => name.replace(/_/g, " ");

/** Fields that come as two, and fields that come alone. */
export function paired(record) {
  const pairs = [], taken = new Set();
  for (const name of Object.keys(record)) {
    for (const [left, right] of SIDES) {
      const stem = name.slice(0, -left.length);
      if (stem && name.endsWith(left) && stem + right in record && !taken.has(name)) {
        pairs.push([stem, name, stem + right]);
        taken.add(name).add(stem + right);
      }
    }
  }
  return [pairs, Object.keys(record).filter((name) => !taken.has(name))];
}

/** A text with its web addresses as links; everything else is plain text. */
export function linked(text) {
  return text.split(/(https?:\/\/[^\s<>"']+)/).map((part, k) => {
    if (k % 2 === 0) return document.createTextNode(part);
    const link = element("a", "", part);
    Object.assign(link, { href: part, target: "_blank", rel: "noopener noreferrer" });
    return link;
  });
}

/** The same for a box of texts, such as guidelines. */
export function withLinks(box) {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) if (/https?:\/\//.test(walker.currentNode.data)) found.push(walker.currentNode);
  for (const node of found) node.replaceWith(...linked(node.data));
  return box;
}

function value(parts, className, picture) {
  const box = element("div", `value ${className}`);
  if (picture) { box.append(picture); return box; }
  if (parts.length === 1 && parts[0][0] === "") {
    const dash = element("span", "nothing", "—");
    dash.setAttribute("aria-label", "missing");
    box.append(dash);
    return box;
  }
  const whole = parts.length === 1 ? "whole" : "";
  for (const [text, differs] of parts) {
    if (parts.length === 1 && /https?:\/\//.test(text)) box.append(...linked(text));
    else box.append(differs ? element("mark", whole, text) : document.createTextNode(text));
  }
  return box;
}

function picture(question, column, images) {
  if (!images.includes(column) || !spelt(question.record[column])) return null;
  const img = element("img");
  img.alt = `${titled(column)}: ${spelt(question.record[column])}`;
  img.src = at("/picture", { item: question.item, column });
  return img;
}

function pairTable(question, pairs, images) {
  const box = element("div", "pair"), record = question.record;
  box.append(element("div", "head field blank"), element("div", "head left", "Left"), element("div", "head right", "Right"), element("div", "head sign"));
  pairs.forEach(([stem, leftName, rightName], k) => {
    const left = spelt(record[leftName]), right = spelt(record[rightName]);
    const [a, b] = differences(left, right), equal = left === right ? "equal" : "";
    const [mark, meaning] = !left || !right ? ["", "missing"] : equal ? ["=", "the same"] : ["≠", "differs"];
    const sign = element("div", mark === "≠" ? "sign differs" : "sign", mark);
    sign.setAttribute("role", "img");
    sign.setAttribute("aria-label", meaning);
    const row = [element("div", "field", titled(stem)), value(a, `left ${equal}`, picture(question, leftName, images)),
      value(b, `right ${equal}`, picture(question, rightName, images)), sign];
    if (k === pairs.length - 1) row.forEach((cell) => cell.classList.add("end"));
    box.append(...row);
  });
  return box;
}

/** Fill `box` with a question. */
export function showRecord(box, question, images) {
  const [pairs, single] = paired(question.record);
  const parts = [];
  if (pairs.length) parts.push(pairTable(question, pairs, images));
  for (const name of single) {
    const row = element("div", "single"), messages = messagesIn(question.record[name]);
    if (messages) { parts.push(chat(messages)); continue; }
    row.append(element("div", "field", titled(name)), value([[spelt(question.record[name]), false]], "", picture(question, name, images)));
    parts.push(row);
  }
  if (!parts.length) parts.push(element("p", "lead", spelt(question.item)));
  else parts.push(element("p", "item-id", `item ${question.item}`));
  box.replaceChildren(...parts);
  box.scrollTop = 0;
}

/** The same for those who listen. */
export function spoken(question) {
  const [pairs, single] = paired(question.record), said = (name) => spelt(question.record[name]) || "missing";
  const heard = (name) => { const messages = messagesIn(question.record[name]); return messages ? spokenChat(messages) : `${titled(name)}: ${said(name)}`; };
  const texts = pairs.map(([stem, left, right]) => (said(left) === said(right) ? `${titled(stem)}: both ${said(left)}` : `${titled(stem)}: ${said(left)}, against ${said(right)}`));
  return [...texts, ...single.map(heard)].join(". ").slice(0, 1500);
}

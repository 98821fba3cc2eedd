// What somebody has answered so far, to look at it again.

import { $, at, boot, get } from "./common.js";
import { spoken } from "./record.js";

const MOST = 60;
const ofServer = (one) => {
  const label = boot.classes.map(String).indexOf(String(one.label));
  return { question: { item: one.item, key: one.key, record: one.record }, answer: one.label === null ? null : label, value: one.label, reason: one.reason };
};

/** Answers of this person, the oldest first: what this tab knows, and what the server does. */
export async function earlier(past, who) {
  const known = new Set(past.map((entry) => entry.question.key));
  let more = [];
  try { more = (await get(at("/api/history", { annotator: who, n: MOST }))).answers; } catch { /* annotators have their own alone */ }
  const found = more.filter((one) => !known.has(one.key)).map((one) => ({ ...ofServer(one), who })).reverse();
  return [...found, ...past];
}

/** Show the answers, the newest first; `choose` gets the place of one among them. */
export function showHistory(past, nameOf, choose) {
  const rows = past.map((entry, place) => {
    const row = document.createElement("li"), button = document.createElement("button"), name = document.createElement("b"), text = document.createElement("span");
    name.textContent = nameOf(entry) + (entry.reason ? `: ${entry.reason}` : "");
    text.textContent = spoken(entry.question).slice(0, 160) || String(entry.question.item);
    button.type = "button";
    button.append(name, text);
    button.addEventListener("click", () => { $("history-box").close(); choose(place); });
    row.append(button);
    return row;
  });
  if (!rows.length) rows.push(Object.assign(document.createElement("li"), { className: "soft", textContent: "Nothing yet." }));
  $("history-list").replaceChildren(...rows.reverse());
  $("history-box").showModal();
}

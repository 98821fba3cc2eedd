// Answers on their way: kept in the browser until the server says that they are on disk.

import { Refused, at, boot, post, wait } from "./common.js";

const KEY = `haystat outbox ${boot.mark} `; // followed by the name of a tab
const SHORTEST = 300, LONGEST = 4000, LATE = 1200; // milliseconds

let own = null, entries = [], persisted = false, sending = false, hooks = {};

/** Take over what this tab, and tabs that are gone, did not get off. */
export function openOutbox(tab, living, given) {
  own = KEY + tab;
  hooks = given;
  const early = entries;
  try {
    const gone = Object.keys(localStorage).filter((key) => key.startsWith(KEY) && !living.has(key.slice(KEY.length)));
    for (const key of new Set([own, ...gone])) {
      entries = entries.concat(JSON.parse(localStorage.getItem(key)) ?? []);
      if (key !== own) localStorage.removeItem(key);
    }
  } catch { entries = early; }
  save();
  return work();
}

export const unsent = () => entries.length;

export function send(path, content) {
  entries = read();
  entries.push({ id: crypto.getRandomValues(new Uint32Array(2)).join(" "), time: Date.now(), path, content });
  save();
  setTimeout(report, LATE + 100);
  return work();
}

/** A tab that slept may find that another one has sent what was here. */
function read() {
  if (!own || !persisted) return entries;
  try { return JSON.parse(localStorage.getItem(own)) ?? []; } catch { return entries; }
}

function save() {
  if (!own) return;
  try {
    if (entries.length) localStorage.setItem(own, JSON.stringify(entries)); else localStorage.removeItem(own);
    persisted = true;
  } catch { persisted = false; } // private windows, and no room: they are in memory
  report();
}

function report() {
  const late = entries.length && Date.now() - entries[0].time > LATE;
  hooks.unsaved?.(late ? entries.length : 0);
}

/** In order, again and again until all is there. */
async function work() {
  if (sending || !own) return;
  sending = true;
  let pause = SHORTEST, trouble = false;
  while ((entries = read()).length) {
    const first = entries[0];
    let found = null;
    try { found = await post(at(first.path), first.content); pause = SHORTEST; } catch (error) {
      if (!(error instanceof Refused)) {
        trouble = true;
        hooks.trouble(error);
        await wait(Math.max(pause, error.retry || 0));
        pause = Math.min(pause * 1.6, LONGEST);
        continue;
      }
      hooks.refused(error);
    }
    entries = read().filter((entry) => entry.id !== first.id);
    save();
    if (found) hooks.saved(found);
  }
  sending = false;
  hooks.done(trouble);
}

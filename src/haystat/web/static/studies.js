// How far each study of the list is.

import { count, get, several, shown } from "./common.js";

/** Labels, estimate and progress in one line. */
function line(found) {
  const first = found.estimate.lead, goal = found.progress;
  const range = first.low === null ? "" : `, ${first.name} ${shown(first.value)} (${shown(first.low)} to ${shown(first.high)})`;
  const far = goal.reached ? "done" : `${Math.round(goal.share * 100)}% of the way`;
  return `${several(found.status.labels, "label")} of ${count(found.status.size)} items${found.status.labels ? `${range}, ${far}` : ""}`;
}

for (const row of document.querySelectorAll("[data-study]")) {
  const url = new URL("/api/status", location.origin);
  url.searchParams.set("study", row.dataset.study);
  try { // one after the other: opening a study takes a moment
    const box = row.querySelector(".far"), found = await get(url);
    box.textContent = line(found);
    box.hidden = false;
  } catch { /* blind, or damaged: its page says so */ }
}

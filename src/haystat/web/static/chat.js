// A conversation as people read it: roles, Markdown, calls of tools that open on demand.
// Every text becomes a text node. Nothing in a message is ever markup, and no address ever acts.

import { element } from "./element.js";

const LONG = 4000; // letters of a message that are shown at first
const ROLES = { user: "User", assistant: "Assistant", system: "System", tool: "Tool", context: "Context", note: "" };

/** The messages in a value, or null where it is no conversation. */
export function messagesIn(value) {
  if (typeof value !== "string" || !value.startsWith("[{") || !value.includes('"role"')) return null;
  try {
    const found = JSON.parse(value);
    return Array.isArray(found) && found.every((one) => one && typeof one.role === "string") ? found : null;
  } catch { return null; }
}

export function chat(messages) {
  const box = element("div", "chat");
  box.append(...messages.map(bubble));
  return box;
}

/** The same for those who listen: the last message is what the question is about. */
export function spokenChat(messages) {
  const last = messages[messages.length - 1];
  return last ? `${messages.length} messages; the last, ${last.role}: ${String(last.content ?? "").slice(0, 800)}` : "no messages";
}

function bubble(message) {
  const kind = Object.hasOwn(ROLES, message.role) ? message.role : "other";
  const box = element("section", `message ${kind}`);
  const title = ROLES[message.role] ?? message.role;
  box.setAttribute("aria-label", title || "Note");
  if (title) box.append(element("p", "role", title));
  const text = String(message.content ?? "");
  // What a tool returned is for those who want to see it.
  if (message.role === "tool" && text) box.append(folded("Result", text));
  else if (text) box.append(...body(text));
  for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
    box.append(folded(`Calls ${call?.name ?? "a tool"}`, String(call?.arguments ?? "")));
  }
  return box;
}

function folded(title, text) {
  const box = element("details", "fold");
  box.append(element("summary", "", title), element("pre", "", text));
  return box;
}

/** A long text, its beginning first. */
function body(text) {
  if (text.length <= LONG) return [markdown(text)];
  const shown = markdown(text.slice(0, LONG));
  const button = element("button", "more", `Show all ${text.length.toLocaleString("en")} letters`);
  button.type = "button";
  button.addEventListener("click", () => { shown.replaceWith(markdown(text)); button.remove(); });
  return [shown, button];
}

// --- Markdown: blocks, then what stands inside a line. Links and pictures are shown, not followed.

const BLOCKS = [
  [/^(#{1,6})\s+(.*)$/, (match) => heading(match)],
  [/^\s{0,3}([-*_])\s*(?:\1\s*){2,}$/, () => element("hr")],
];

export function markdown(text) {
  const box = element("div", "markdown");
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  let at = 0;
  while (at < lines.length) {
    const line = lines[at], fence = /^\s{0,3}(`{3,}|~{3,})/.exec(line);
    if (fence) {
      let end = at + 1;
      while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end += 1;
      box.append(element("pre", "", lines.slice(at + 1, end).join("\n")));
      at = end + 1;
    } else if (!line.trim()) at += 1;
    else {
      const rule = BLOCKS.find(([pattern]) => pattern.test(line));
      if (rule) { box.append(rule[1](rule[0].exec(line))); at += 1; }
      else at = block(box, lines, at);
    }
  }
  return box;
}

function heading(match) {
  const made = element("p", `heading h${match[1].length}`);
  made.append(...inline(match[2]));
  return made;
}

const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;

/** Lists, quotes and paragraphs, whose lines belong together; returns the line after them. */
function block(box, lines, at) {
  const pattern = [ITEM, QUOTE].find((one) => one.test(lines[at]));
  if (pattern === ITEM) {
    const list = element(/^\s*\d/.test(lines[at]) ? "ol" : "ul");
    for (; at < lines.length && ITEM.test(lines[at]); at += 1) {
      const entry = element("li");
      entry.append(...inline(ITEM.exec(lines[at])[1]));
      list.append(entry);
    }
    box.append(list);
    return at;
  }
  const made = element(pattern ? "blockquote" : "p");
  const stop = (line) => !line.trim() || /^\s{0,3}(`{3,}|~{3,}|#{1,6}\s)/.test(line) || (pattern ? !QUOTE.test(line) : ITEM.test(line) || QUOTE.test(line));
  const first = at;
  for (; at < lines.length && (at === first || !stop(lines[at])); at += 1) {
    if (at > first) made.append(element("br"));
    made.append(...inline(pattern ? QUOTE.exec(lines[at])[1] : lines[at]));
  }
  box.append(made);
  return at;
}

const INSIDE = /(`+)([^`]+?)\1(?!`)|\*\*(?=\S)([^*]+?)\*\*|__(?=\S)([^_]+?)__|\*(?=\S)([^*]+?)\*|!?\[([^\]\[]*)\]\(([^()\s]*)[^()]*\)/g;

function inline(text) {
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(INSIDE)) {
    if (match.index > last) parts.push(document.createTextNode(text.slice(last, match.index)));
    parts.push(...spanOf(match));
    last = match.index + match[0].length;
  }
  if (last < text.length) parts.push(document.createTextNode(text.slice(last)));
  return parts;
}

function spanOf(match) {
  const [, ticks, code, strong, bold, slanted, label, address] = match;
  if (ticks) return [element("code", "", code)];
  if (strong ?? bold) return [element("strong", "", strong ?? bold)];
  if (slanted) return [element("em", "", slanted)];
  return [element("span", "link", `${match[0].startsWith("!") ? "picture: " : ""}${label}`), element("span", "address", ` (${address})`)];
}

// The one way to make an element: its text is a text, whatever is in it.

export function element(kind, className, text) {
  const made = document.createElement(kind);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** A box to tick, with its name beside it. */
export function checkbox(name, checked) {
  const label = element("label"), box = element("input");
  box.type = "checkbox";
  box.value = name;
  box.checked = checked;
  label.append(box, name);
  return label;
}

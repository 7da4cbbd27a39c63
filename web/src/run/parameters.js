// The numbers that a page lets its reader vary: literals at the top of a snippet, read and written in its text.
// What may be there, and its bounds, comes with the page: scripts/parameters.py reads the declarations.

// Where a parameter's value stands in a text.
export const place = (text, name) => {
  const found = new RegExp(`^${name} = ([^#\\n]*?)[ \\t]*(?:#.*)?$`, "m").exec(text);
  return found && { from: found.index + name.length + 3, to: found.index + name.length + 3 + found[1].length, written: found[1] };
};

// What each parameter is in this text, as Python writes it; a name that the text no longer has is left out.
export function read(text, parameters) {
  return Object.fromEntries(parameters.map(({ name }) => [name, place(text, name)?.written]).filter(([, written]) => written !== undefined));
}

export function write(text, name, written) {
  const found = place(text, name);
  return found ? text.slice(0, found.from) + written + text.slice(found.to) : text;
}

// Whether a value from outside, such as a link's, is one that the snippet declares.
export function isAllowed(parameter, written) {
  if (typeof parameter.value === "boolean") return written === "True" || written === "False";
  if (parameter.choices) return parameter.choices.includes(written);
  const value = Number(written);
  return /^-?\d+(\.\d+)?$/.test(written) && value >= parameter.min && value <= parameter.max;
}

// Let a control show a value as Python writes it.
export function show(control, written) {
  if (control.type === "checkbox") control.checked = written === "True";
  else control.value = written;
  const value = control.parentElement.querySelector(".run-value");
  if (value) value.textContent = written;
}

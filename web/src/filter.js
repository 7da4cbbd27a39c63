// The table of questions on the front page: words, a topic, a level. The state stands in the address, so that it can be shared.
export function filterTables() {
  const box = document.querySelector("[data-filter]");
  const table = box?.querySelector("table");
  if (!table) return;
  const words = JSON.parse(box.dataset.filter);
  const rows = [...table.tBodies[0].rows];
  const text = (row, column) => row.cells[column].textContent.trim();

  const form = document.createElement("form");
  form.className = "question-filter";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", words.label);
  const input = field(form, words.words, document.createElement("input"));
  input.type = "search";
  const selects = [1, 2].map((column) => {
    const select = field(form, text(table.tHead.rows[0], column), document.createElement("select"));
    const values = [...new Set(rows.map((row) => text(row, column)))];
    select.append(new Option(words.all, ""), ...values.map((value) => new Option(value, value)));
    return select;
  });
  const status = document.createElement("output");
  const clear = document.createElement("button");
  clear.type = "button";
  clear.textContent = words.clear;
  form.append(status, clear);
  box.prepend(form);

  const controls = { words: input, topic: selects[0], level: selects[1] };
  const update = () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const all = row.textContent.toLowerCase();
      const fits = selects.every((select, index) => !select.value || text(row, index + 1) === select.value);
      row.hidden = !(fits && wanted.every((word) => all.includes(word)));
      count += !row.hidden;
    }
    table.hidden = !count;
    status.textContent = count ? words.count.replace("#", count).replace("#", rows.length) : words.none;
    const state = Object.entries(controls).filter(([, control]) => control.value);
    clear.hidden = !state.length;
    return new URLSearchParams(state.map(([name, control]) => [name, control.value]));
  };
  const share = () => {
    const state = update();
    history.replaceState(null, "", (state.size ? `?${state}` : location.pathname) + location.hash);
  };
  const address = new URLSearchParams(location.search);
  for (const [name, control] of Object.entries(controls)) control.value = address.get(name) ?? "";
  for (const select of selects) if (select.selectedIndex < 0) select.value = ""; // the address names no such topic or level
  update();
  form.addEventListener("input", share);
  form.addEventListener("submit", (event) => event.preventDefault());
  clear.addEventListener("click", () => {
    for (const control of Object.values(controls)) control.value = "";
    share();
    input.focus();
  });
}

function field(form, text, control) {
  const label = document.createElement("label");
  label.append(text, control);
  form.append(label);
  return control;
}

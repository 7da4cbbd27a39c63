// The table of questions on the front page: words, a topic, a level. The state stands in the address, so that it can be shared.
export function filterTables() {
  const table = document.querySelector("[data-filter] table");
  if (!table) return;
  const words = JSON.parse(document.querySelector("[data-filter]").dataset.filter);
  const rows = [...table.tBodies[0].rows];
  const form = document.createElement("form");
  form.className = "question-filter";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", words.label);
  const input = field(form, words.words, document.createElement("input"));
  input.type = "search";
  const selects = [1, 2].map((column) => {
    const select = field(form, table.tHead.rows[0].cells[column].textContent.trim(), document.createElement("select"));
    const values = [...new Set(rows.map((row) => row.cells[column].textContent.trim()))];
    select.append(new Option(words.all, ""), ...values.map((value) => new Option(value, value)));
    return select;
  });
  const status = document.createElement("output");
  form.append(status);
  document.querySelector("[data-filter]").prepend(form);

  const address = new URLSearchParams(location.search);
  input.value = address.get("words") ?? "";
  selects[0].value = address.get("topic") ?? "";
  selects[1].value = address.get("level") ?? "";
  const update = () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = selects.every((select, index) => !select.value || row.cells[index + 1].textContent.trim() === select.value);
      row.hidden = !(fits && wanted.every((word) => text.includes(word)));
      count += !row.hidden;
    }
    status.textContent = words.count.replace("#", count).replace("#", rows.length);
    const state = new URLSearchParams(
      Object.entries({ words: input.value, topic: selects[0].value, level: selects[1].value }).filter(([, value]) => value),
    );
    history.replaceState(null, "", (state.size ? `?${state}` : location.pathname) + location.hash);
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (location.search) update();
  else status.textContent = words.count.replace("#", rows.length).replace("#", rows.length);
}

function field(form, text, control) {
  const label = document.createElement("label");
  label.append(text, control);
  form.append(label);
  return control;
}

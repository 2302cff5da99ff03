// A field that hides what does not hold every word, and says how much is shown. The form names by selectors what it
// filters (data-rows) and what disappears when all of it is hidden (data-groups); a menu, where there is one, asks for
// a word in <em>. The id of a row is searched, too.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.course-filter");
  const { rows: which, groups: around, what } = form.dataset;
  const rows = [...document.querySelectorAll(which)];
  const groups = around ? [...document.querySelectorAll(around)].map((box) => [box, rows.filter((row) => box.contains(row))]) : [];
  const texts = rows.map((row) => `${row.textContent} ${row.id}`.toLowerCase());
  const words = form.elements.words;
  const kind = form.elements.kind;
  const show = () => {
    const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row, at) => {
      const other = kind?.value && row.querySelector("em")?.textContent !== kind.value;
      row.hidden = other || !asked.every((word) => texts[at].includes(word));
    });
    for (const [box, inside] of groups) box.hidden = inside.length > 0 && inside.every((row) => row.hidden);
    form.querySelector("output").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} ${what} shown`;
  };
  const showTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.closest("[hidden]")) return;
    words.value = "";
    if (kind) kind.value = "";
    show();
    target.scrollIntoView();
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", showTarget);
  form.hidden = false;
  show();
});

// Hides the rows of the tables of claims that do not hold every word, or have another status; says how many are shown.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.claims-filter");
  const rows = [...document.querySelectorAll("table.claims tbody tr")].filter((row) => row.querySelector("[id^=claim-]"));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const statuses = rows.map((row) => row.querySelector("em")?.textContent ?? "");
  const show = () => {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const status = form.elements.status.value;
    rows.forEach((row, i) => {
      row.hidden = !(words.every((word) => texts[i].includes(word)) && (!status || statuses[i] === status));
    });
    form.querySelector("output").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} claims shown`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
});

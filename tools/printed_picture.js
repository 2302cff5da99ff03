// The filter of the picture of "What reproduced", and the line that tells what a dot is. Each row is one stop of the
// keyboard; arrows go from dot to dot in it.
for (const figure of document.querySelectorAll(".printed-picture")) {
  const form = figure.querySelector("form"), output = figure.querySelector("output");
  const rows = [...figure.querySelectorAll("li")];
  const shown = (row) => [...row.querySelectorAll("i:not([hidden])")].sort((a, b) => a.offsetLeft - b.offsetLeft);
  const tell = (dot) => {
    figure.querySelector("[aria-current]")?.removeAttribute("aria-current");
    dot.setAttribute("aria-current", "true");
    output.textContent = dot.dataset.told;
  };
  for (const dot of figure.querySelectorAll("li i")) {
    dot.dataset.told = dot.title;
    dot.addEventListener("click", () => tell(dot));
  }
  for (const box of figure.querySelectorAll("li > div")) {
    box.tabIndex = 0;
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const dots = shown(box), at = dots.indexOf(box.querySelector("[aria-current]"));
      if (dots.length) tell(dots[at < 0 ? 0 : (at + step + dots.length) % dots.length]);
    });
  }
  const filter = () => {
    const kept = new Set([...form.querySelectorAll("input:checked")].map((box) => box.value));
    for (const row of rows) {
      row.hidden = form.elements.paper.value !== "" && row.dataset.paper !== form.elements.paper.value;
      for (const dot of row.querySelectorAll("i")) dot.hidden = !kept.has(dot.className);
    }
  };
  for (const box of form.elements) box.disabled = false;
  form.querySelector("[hidden]").hidden = false;
  form.addEventListener("input", filter);
  output.textContent = "Choose a dot.";
  filter(); // a browser may have kept what was chosen
}

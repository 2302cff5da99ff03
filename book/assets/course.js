// What the theme leaves undone for people who use a keyboard or a screen reader.
"use strict";

// A region that scrolls sideways (a wide table, formula or code block on a narrow screen) must be reachable by keyboard.
const SCROLLING =
  "article pre, article mjx-container, article span.math, article div, article figure, article table, article section";

// What MathJax keeps for screen readers lies beside an inline formula, and reaches further than what is seen.
function scrollsSideways(element) {
  if (element.matches("span.math")) return (element.querySelector("mjx-math")?.getBoundingClientRect().width ?? 0) > element.clientWidth + 2;
  return element.scrollWidth > element.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
}

// A shade at the right edge says that there is more, until the reader has come to the end.
function markWhatIsHidden(region) {
  region.dataset.more = region.scrollLeft + region.clientWidth < region.scrollWidth - 2;
}

function markScrollingRegions() {
  for (const region of document.querySelectorAll(SCROLLING)) {
    if (scrollsSideways(region)) {
      region.tabIndex = 0;
      region.dataset.scrolls = "sideways";
      markWhatIsHidden(region);
    } else if (region.dataset.scrolls) {
      region.removeAttribute("tabindex");
      delete region.dataset.scrolls;
      delete region.dataset.more;
    }
  }
}

// The theme's switch that unfolds a part of the sidebar has no name for a screen reader.
function nameSidebarSwitches() {
  for (const summary of document.querySelectorAll(".bd-sidebar-primary summary")) {
    const page = summary.closest("li")?.querySelector(":scope > a")?.textContent.trim();
    summary.setAttribute("aria-label", `Pages under ${page ?? "this page"}`);
  }
}

// The list of contents makes room for a table that reaches into its margin, as the theme lets it do for figures.
function makeRoomForWideTables() {
  const contents = document.querySelector(".bd-sidebar-secondary"), seen = new Set();
  if (!contents || !window.IntersectionObserver) return;
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const reaches = target.getBoundingClientRect().right > document.querySelector("article").getBoundingClientRect().right;
      if (isIntersecting && reaches) seen.add(target); else seen.delete(target);
    }
    contents.classList.toggle("covered", seen.size > 0);
  });
  document.querySelectorAll(".bd-article .text_html:has(> table thead th:nth-child(6))").forEach((table) => watch.observe(table));
}

// Paper is white, whatever the reader's screen is; it shows figures that were never scrolled to, and formulas whole.
const PAPER = 37; // the width of a column of paper, in its own letters
function prepareForPaper() {
  const page = document.documentElement, chosen = page.dataset.theme;
  page.dataset.theme = "light";
  window.addEventListener("afterprint", () => { page.dataset.theme = chosen; }, { once: true });
  for (const folded of document.querySelectorAll("details.long-table")) folded.open = true;
  for (const image of document.querySelectorAll('img[loading="lazy"]')) image.loading = "eager";
  for (const formula of document.querySelectorAll("article mjx-container")) {
    const wide = (formula.querySelector("mjx-math")?.getBoundingClientRect().width ?? 0) / parseFloat(getComputedStyle(formula).fontSize);
    if (wide > PAPER) formula.style.setProperty("--on-paper", PAPER / wide);
  }
}

document.addEventListener("DOMContentLoaded", nameSidebarSwitches);
document.addEventListener("DOMContentLoaded", makeRoomForWideTables);
window.addEventListener("load", () => {
  markScrollingRegions();
  window.MathJax?.startup?.promise?.then(markScrollingRegions);
  const article = document.querySelector("article"); // the page grows when an interactive is mounted
  if (article && window.ResizeObserver) new ResizeObserver(markScrollingRegions).observe(article);
});
document.fonts?.addEventListener("loadingdone", markScrollingRegions); // formulas grow whenever a font arrives
window.addEventListener("beforeprint", prepareForPaper);
window.addEventListener("resize", markScrollingRegions);
document.addEventListener("scroll", ({ target }) => target.dataset?.scrolls && markWhatIsHidden(target), true);
document.addEventListener("toggle", markScrollingRegions, true); // a folded part was opened
document.addEventListener("click", () => requestAnimationFrame(markScrollingRegions));

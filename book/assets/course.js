// A region that scrolls sideways (a wide table, formula or code block on a narrow screen) must be reachable by keyboard.
"use strict";

const SCROLLING = "pre, div.math, .table-wrap, .pst-scrollable-table-container, .cell_output .output";

function markScrollingRegions() {
  for (const region of document.querySelectorAll(SCROLLING)) {
    if (region.scrollWidth > region.clientWidth + 1) region.tabIndex = 0;
    else if (region.tabIndex === 0) region.removeAttribute("tabindex");
  }
}

window.addEventListener("load", () => {
  markScrollingRegions();
  window.MathJax?.startup?.promise?.then(markScrollingRegions);
});
window.addEventListener("resize", markScrollingRegions);

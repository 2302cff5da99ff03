// A deck: fits every slide to 1280 x 720, and starts reveal.js. (An interactive keeps its keys to itself: controls.js.)
(() => {
"use strict";
const WIDTH = 1280, HEIGHT = 720;
const TEXT = [1.28, 0.82]; // the most and the least of the full size
const PICTURES = [1.1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]; // those of an interactive give way to its words,
const ENOUGH = 0.8; // down to this size; then the sentence below the picture goes
const LETTER = 24; // px of the smallest letter on a slide: --least in deck.css
const LETTERS = 15 / 14, MOST_FIGURE = 480; // a figure at this scale has letters of 15 px; px that a headline and a caption leave
const inside = (element) => element?.closest?.("[data-course-widget]");

/** Whether something in a body stands outside of it. */
const spills = (body) => body.scrollHeight > body.clientHeight + 1 || body.scrollWidth > body.clientWidth + 1;

/** Sets the largest size, from the least to the most in hundredths, for which `set` says that everything is held. */
function largest([most, least], set) {
  let low = Math.round(100 * least), high = Math.round(100 * most);
  if (set(high / 100)) return;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (set(middle / 100)) low = middle; else high = middle;
  }
  set(low / 100);
}

/** Makes text as large as the slide allows; a figure first gets what its letters need. */
function fitText(body) {
  const figures = body.querySelectorAll(".piece-figure img");
  const most = figures.length || body.querySelector(".piece-cover") ? 1 : TEXT[0];
  const still = body.querySelector(".piece-still");
  PICTURES.some((picture) => {
    body.style.setProperty("--picture", picture);
    for (const image of body.matches(".beside") ? [] : figures) {
      image.closest("picture").style.minHeight = `${picture * Math.min(Math.ceil(image.naturalHeight * LETTERS), MOST_FIGURE)}px`;
    }
    largest([most, TEXT[1]], (size) => {
      body.style.setProperty("--fit", size.toFixed(2));
      return !spills(body);
    });
    return !(figures.length || still) || !spills(body);
  });
}

/** Makes the picture of an interactive as large as the slide allows, with its letters as large as all others. */
function fitAlive(body) {
  const held = (picture) => {
    body.style.setProperty("--picture", picture);
    return !spills(body);
  };
  if (!PICTURES.filter((picture) => picture >= ENOUGH).some(held)) {
    body.classList.add("terse");
    PICTURES.some(held);
  }
  for (const one of body.querySelectorAll("svg")) {
    one.style.setProperty("--letter", `${(LETTER / Math.max(one.getScreenCTM()?.a ?? 0, 0.1)).toFixed(1)}px`);
  }
}

/** Makes what a slide holds fit it. */
const fit = (body) => (body.querySelector("[data-course-widget]") ? fitAlive(body) : fitText(body));

/** Light or dark; a deck opens in the light, which a projector shows better. */
function turnTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
}

/** Escape leaves an interactive; a presenter's page keys turn the slide from inside one too. */
function leaveByKey(event) {
  if (!inside(document.activeElement)) return;
  const turns = { PageDown: () => Reveal.next(), PageUp: () => Reveal.prev(), Escape: () => {} };
  if (!(event.key in turns)) return;
  document.activeElement.blur();
  turns[event.key]();
  event.preventDefault();
  event.stopPropagation();
}

async function start() {
  await window.MathJax?.startup?.promise;
  await Promise.all([...document.fonts].map((font) => font.load()));
  const slides = document.querySelector(".slides");
  slides.querySelectorAll(".body").forEach(fit);
  slides.classList.remove("measuring");
  document.addEventListener("keydown", leaveByKey, true);
  await Reveal.initialize({
    width: WIDTH, height: HEIGHT, margin: 0, minScale: 0.1, maxScale: 4, center: false, display: "flex", hash: true,
    slideNumber: "c/t", controls: false, defaultTiming: 120, transition: "none", pdfSeparateFragments: false, plugins: [RevealNotes],
  });
  Reveal.addKeyBinding({ keyCode: 84, key: "T", description: "Light or dark" }, turnTheme);
  document.documentElement.dataset.deckReady = "true";
}

if (document.readyState === "complete") start(); else addEventListener("load", start);
})();

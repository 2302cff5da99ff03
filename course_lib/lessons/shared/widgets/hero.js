// A page's hero: one picture over the whole width, at most three controls, the point in a sentence, all else behind one button.
import { beside, framed } from "./controls.js";
import { h } from "./kit.js";

const PHONE = 560; // px: below that a picture is drawn for a phone

/**
 * The frame of a hero. `head` is that of `framed`, `more` what `beside` takes: both it and the folds stand behind "Everything", which is
 * open where the state's `everything` says so. A view draws for a phone where its `narrow` is true; it is refreshed when that changes.
 */
export function hero(view, { head, controls, picture, more }) {
  const { folds, summary } = view.parts;
  const all = h("details", { class: "cw-everything", ontoggle: () => all.open === view.state().everything || view.set({ everything: all.open }) },
    h("summary", {}, "Everything"), beside(more), folds.box);
  view.parts.everything = all;
  const stage = h("div", { class: "cw-hero-picture" }, picture);
  if (globalThis.ResizeObserver) new ResizeObserver(([{ contentRect: { width } }]) => {
    if (!width || view.narrow === width < PHONE) return;
    view.narrow = width < PHONE;
    view.refresh();
  }).observe(stage);
  return framed({ ...head, look: `cw-hero ${head.look ?? ""}` }, h("div", { class: "cw-hero-controls" }, controls), stage, summary, all);
}

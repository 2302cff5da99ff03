// The map of the films that two interactives share: its frame, and a mark for each of three kinds of films.
import { drawing, svg } from "./kit.js";
import { diamond } from "./controls.js";

/** The mark of a film of the first, the second or the third kind (0, 1, 2): a filled circle, a diamond, a small circle. */
export function filmMark(kind, x, y) {
  if (kind === 1) return svg("path", { class: "cw-map-old", d: diamond(Number(x), Number(y), 6) });
  return svg("circle", kind === 0 ? { class: "cw-map-animated", cx: x, cy: y, r: 5 } : { class: "cw-map-other", cx: x, cy: y, r: 3.5 });
}

/** The picture: what lies inside a frame with round corners. */
export const framedMap = ({ width, height }, label, ...inside) => drawing({ width, height }, { "aria-label": label },
  svg("rect", { class: "cw-frame", x: 1, y: 1, width: width - 2, height: height - 2, rx: 10 }), inside);

// Where names go beside their marks, so that they cover neither marks nor each other.

const PLACES = [[12, -6, "start"], [-12, -6, "end"], [12, 16, "start"], [-12, 16, "end"], [0, -13, "middle"], [0, 24, "middle"]];
const [CHARACTER, HEIGHT, MARK, MARGIN, GAP] = [12, 20, 8, 3, 4]; // of the widest system fonts; GAP between two names

/** The box of a text of a given width whose anchor stands at (x, y). */
const boxOf = (x, y, anchor, width) => {
  const left = x - { start: 0, middle: width / 2, end: width }[anchor];
  return [left, y - HEIGHT + 4, left + width, y + 4];
};

const overlap = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));

/** [dx, dy, anchor] for the name of every mark: marks = [[x, y], ...] on a square of the given side. */
export function namePlaces(marks, texts, side) {
  const taken = marks.map(([x, y]) => [x - MARK, y - MARK, x + MARK, y + MARK]);
  return marks.map(([x, y], k) => {
    const width = CHARACTER * texts[k].length;
    const rated = PLACES.map(([dx, dy, anchor], place) => {
      const box = boxOf(x + dx, y + dy, anchor, width);
      const outside = width * HEIGHT - overlap(box, [MARGIN, MARGIN, side - MARGIN, side - MARGIN]);
      return { box, place, cost: 4 * outside + taken.reduce((total, other) => total + overlap(box, other), 0) };
    });
    const best = rated.reduce((a, b) => (b.cost < a.cost - 1e-9 ? b : a));
    taken.push([best.box[0] - GAP, best.box[1], best.box[2] + GAP, best.box[3]]);
    return PLACES[best.place];
  });
}

// The hero of the chapter: the square of all pairs, which grows with the examples, folds into two matrices, which do not.
import { drawing, fine, h, number, svg, thousands } from "../shared/widgets/kit.js";
import { Interactive, barPiece, button, card, hero, namedBar, showing, slider } from "../shared/widgets/controls.js";
import { average, inner, unpack } from "../shared/widgets/tables.js";

const NAMES = ["rows", "size", "way", "everything"];
const [LEAST, MOST, LEVELS] = [2, 60, 6];
const [CELL, LEFT, TOP, GAP] = [5, 8, 34, 26];

export default showing(NAMES, class extends Interactive {
  build(parts, { rows }) {
    [this.left, this.right] = [unpack(rows.left), unpack(rows.right)];
    const width = rows.left.width;
    this.control(slider, "size", { text: "Examples", min: LEAST, max: MOST, step: 1 });
    parts.fold = button("fold", "Two matrices", () => this.set({ way: this.state().way === "pairs" ? "matrices" : "pairs" }));
    parts.square = svg("g", { class: "cw-square-of-pairs" });
    parts.matrices = svg("g", { class: "cw-two-matrices" });
    parts.pairsText = svg("text", { class: "cw-hero-text cw-start", x: LEFT, y: 24 });
    const start = LEFT + CELL * MOST + 2 * GAP;
    parts.matricesText = ["people", "films"].map((side, k) => svg("text", { class: "cw-hero-text cw-start", x: start + k * (CELL * width + GAP), y: 24 }, side));
    parts.times = svg("text", { class: "cw-hero-text cw-middle", x: start + CELL * width + GAP / 2, y: TOP + (CELL * width) / 2 + 6 }, "×");
    [parts.equals, parts.scale] = [["", 32, 4], [" cw-soft", 146, 3]].map(([look, from, lines]) => Array.from({ length: lines }, (_, line) => (
      svg("text", { class: `cw-hero-text cw-start${look}`, x: start, y: TOP + CELL * width + from + 26 * line }))));
    parts.bars = h("div", { class: "cw-bars" });
    this.places = [start, start + CELL * width + GAP];
    return hero(this, {
      head: { look: "cw-square-hero", title: "All pairs, or two small matrices", lead: "Add examples: the square of all pairs grows. Then press Two matrices: they give the same number, and they never grow." },
      controls: [parts.size.box, parts.fold],
      picture: drawing({ width: start + 300, height: TOP + CELL * MOST + 12 }, { "aria-label": "A square of cells and two small matrices; the text gives their number" },
        (parts.frame = svg("path", { class: "cw-frame" })), parts.matrices, parts.square, parts.pairsText, parts.matricesText, parts.times, parts.equals, parts.scale),
      more: { view: card(`Multiplications for all ${thousands(rows.all)} examples`, "", parts.bars) },
    });
  }

  refresh(parts, state) {
    const { rows, size, way } = state;
    const found = measure(this.left.slice(0, size), this.right.slice(0, size));
    this.story = story(state, found);
    parts.fold.textContent = way === "pairs" ? "Two matrices" : "All pairs";
    if (this.shown !== size) {
      parts.square.replaceChildren(...cells(found.scores, LEFT, TOP, "cw-cells-pairs"));
      parts.matrices.replaceChildren(...found.gramians.map((gramian, k) => cells(gramian.map((row) => row.map(Math.abs)), this.places[k], TOP, "cw-cells-means")).flat());
      this.shown = size;
    }
    const folded = way === "matrices";
    parts.square.style.transform = folded ? `translate(${this.places[0] - LEFT * 0.27}px, ${TOP * 0.73}px) scale(0.27)` : "translate(0px, 0px) scale(1)";
    parts.square.style.opacity = folded ? "0" : "1";
    parts.matrices.style.opacity = folded ? "1" : "0.7";
    parts.pairsText.textContent = `${thousands(size * size)} pairs`;
    const lines = ["Mean squared score", `of all pairs: ${found.mean.toPrecision(4)}`, "Cell × cell, summed:", found.product.toPrecision(4)];
    lines.forEach((line, k) => (parts.equals[k].textContent = line));
    parts.frame.setAttribute("d", `M${LEFT} ${TOP}h${CELL * size}v${CELL * size}h${-CELL * size}z`);
    const [long, short] = multiplications(rows);
    parts.scale[0].textContent = `For all ${thousands(rows.all)} examples`;
    parts.scale[1].textContent = `${number(long / short)} times fewer`;
    parts.scale[2].textContent = "multiplications";
    parts.bars.replaceChildren(namedBar(thousands(long), "by way of every pair", barPiece("cw-piece-push", 1)), namedBar(thousands(short), "by way of two matrices", barPiece("cw-piece-pull", Math.max(short / long, 0.004))));
    this.fold({ numbers: () => [HEADS, numbersOf(state, this), "The same number by both ways."], python: asPython(state) });
  }
});

// ---- what is shown -------------------------------------------------------------------------------------------------------

/** The means of the products of two coordinates. */
const gramianOf = (rows) => Array.from(rows[0], (_, a) => Array.from(rows[0], (__, b) => average(rows.map((row) => row[a] * row[b]))));

/** All squared scores and their mean, both Gramians and the sum of the products of their entries. */
function measure(left, right) {
  const scores = left.map((u) => right.map((v) => inner(u, v) ** 2));
  const gramians = [gramianOf(left), gramianOf(right)];
  return { scores, gramians, mean: average(scores.flat()), product: gramians[0].reduce((sum, row, a) => sum + inner(row, gramians[1][a]), 0) };
}

function multiplications({ all, left: { width } }) {
  return [all * all * (width + 1), 2 * all * width * width + width * width];
}

function story({ rows, size }, { mean: value }) {
  const [long, short] = multiplications(rows);
  return `All ${thousands(size * size)} pairs of ${size} examples, and two matrices of ${rows.left.width} × ${rows.left.width} means, give the same mean squared score, ${value.toPrecision(4)}. For all ${thousands(rows.all)} examples the matrices need ${thousands(Math.round(long / short))} times fewer multiplications.`;
}

const HEADS = ["Examples", "Pairs", "Mean of the square", "Sum of the products of the matrices"];

const numbersOf = ({ size }, { left, right }) => [...new Set([2, 10, 30, size, 60])].sort((a, b) => a - b).map((count) => {
  const found = measure(left.slice(0, count), right.slice(0, count));
  return [String(count), thousands(count * count), fine(found.mean), fine(found.product)];
});

const asPython = ({ size, way }) => [
  "from course_lib import gramians", "from course_lib.lessons.gramian_estimators.two_matrices import TwoMatrices", "from course_lib.lessons.shared.widgets.tables import unpack", "",
  `shown = TwoMatrices(size=${size}, way="${way}")`,
  `left, right = (unpack(shown.rows[side])[:${size}] for side in ("left", "right"))`,
  "every_pair = ((left @ right.T) ** 2).mean()",
  "two_matrices = (gramians.gramian(left) * gramians.gramian(right)).sum()",
  'print(f"{every_pair:.4f} {two_matrices:.4f}")', "shown"].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

/** A path for each of a few levels of darkness: the cells whose value, by its square root, falls into it; cells side by side are one line. */
function cells(values, left, top, look) {
  const most = Math.sqrt(Math.max(...values.flat()));
  const paths = Array.from({ length: LEVELS }, () => "");
  values.forEach((row, i) => {
    const levels = row.map((value) => Math.min(LEVELS - 1, Math.floor((LEVELS * Math.sqrt(value)) / most)));
    for (let j = 0, end; j < levels.length; j = end) {
      end = levels.findIndex((level, k) => k > j && level !== levels[j]);
      if (end < 0) end = levels.length;
      paths[levels[j]] += `M${left + j * CELL} ${top + (i + 0.5) * CELL}h${(end - j) * CELL}`;
    }
  });
  return paths.map((path, level) => svg("path", { class: look, d: path, "stroke-opacity": (0.08 + (0.92 * level) / (LEVELS - 1)).toFixed(2) }));
}

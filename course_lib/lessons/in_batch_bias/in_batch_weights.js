// The interactive "what the batch really weighs": an editable label matrix and the weight that one expected batch puts on
// every pair.
import { Interactive, barPiece, barUnder, beside, card, choice, framed, key, presets, selection, showing, slider, stepper } from "../shared/widgets/controls.js";
import { drawing, h, hatch, list, number, remembered, svg } from "../shared/widgets/kit.js";
import {
  KINDS, balance, bestScore, countLabels, expectedWeights, fullWeights, mapCells, mistakenPairs, objectiveParts, pairLosses, pairPopularity, popularityThreshold,
  positivePairs,
} from "./in_batch_math.js";
import { randomGenerator, sampleWithoutReplacement } from "../shared/widgets/random.js";

const NAMES = ["labels", "batch_size", "kind", "omega", "pointwise", "fit", "seed"];
const SMALLEST = 2;
const LARGEST = 8;
const square = (side, label) => Array.from({ length: side }, (_, i) => Array.from({ length: side }, (__, j) => Number(label(i, j))));

const PRESETS = {
  fig2: { text: "Like P3’s Fig. 2", set: { batch_size: 3, labels: [[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]] } },
  permutation: { text: "One positive each", set: { batch_size: 3, labels: square(5, (i, j) => [2, 0, 4, 1, 3][i] === j) } },
  hub: { text: "A hit and a fan", set: { batch_size: 4, labels: square(6, (i, j) => i === 0 || j === 0 || i === j) } },
  random: { text: "Random", make: (random) => ({ batch_size: 4, labels: randomLabels(random) }) },
};

const KIND_NAMES = {
  in_batch: "In-Batch",
  unbiased: "Unbiased",
  unbiased_omega: "Unbiased-ω",
  popularity: "Popularity",
  pos_neg: "Pos-Neg",
  masked: "Masked",
};

const KIND_NOTES = {
  in_batch: "Every other pair of the batch counts as a negative. P3, equation (28).",
  unbiased: "Each pair divided by its popularity, the balance restored: the expectation is the full objective. P3, equation (17).",
  unbiased_omega: "The unbiased loss with its negatives multiplied by ω, a balance that you choose. P3, equation (25).",
  popularity: "Only the balance is repaired; popular pairs still weigh too much. P3, equation (26).",
  pos_neg: "Only popularity is repaired; the balance still follows the batch size. P3, equation (27).",
  masked: "Unbiased as well, by leaving known positives out of the negatives. Ours, from the structure of P3’s (17).",
};

/** Six by six, about a third ones, no empty row or column. */
function randomLabels(random) {
  const side = [0, 1, 2, 3, 4, 5];
  const cover = sampleWithoutReplacement(side, 6, random);
  return side.map((i) => side.map((j) => Number(cover[i] === j || random() < 0.22)));
}

export default showing(NAMES, class extends Interactive {
  get story() {
    return sentences(this.state(), this.result).join(" ");
  }

  build(parts, { labels, seed }) {
    this.heatMap = remembered((m, n) => new HeatMap(m, n, (i, j) => this.inspect(i, j))); // kept while the shape stays: its marks move
    this.active = mostPopularPositive(labels);
    this.presetRandom = randomGenerator(seed + 1);
    parts.message = h("p", { class: "cw-message", role: "status" });
    parts.inspector = h("p", { class: "cw-inspector" });
    const options = KINDS.map((name) => [name, KIND_NAMES[name]]);
    parts.presets = presets(PRESETS, (name) => this.usePreset(name));
    this.control(selection, "kind", { text: "Batch loss", options, notes: KIND_NOTES });
    parts.batchSize = slider({ name: "batch_size", text: "Batch size |Ô|", min: 2, max: 2, step: 1, onset: (batch_size) => this.set({ batch_size }) });
    this.control(slider, "omega", { text: "Balance ω", min: 0.01, max: 1, step: 0.01, words: number });
    return framed({ look: "cw-in-batch cw-words-under cw-main-long", title: "What the batch really weighs", lead: "A 1 is a positive, a pair that belongs together. Switch labels on and off: what does a batch weigh?" }, beside({
      start: parts.presets.box,
      main: [parts.kind.box, parts.batchSize.box, parts.omega.box, this.buildLabels(parts), parts.inspector],
      view: this.buildWeights(parts),
      words: [parts.message, parts.summary],
    }), h("div", { class: "cw-folds" }, this.buildObjective(parts), parts.folds.box));
  }

  buildLabels(parts) {
    const side = (name) => stepper({ name, least: SMALLEST, most: LARGEST, onstep: (more) => this.resize(name, more) });
    [parts.rows, parts.columns] = [side("row"), side("column")];
    parts.grid = h("div", { class: "cw-grid", role: "grid", "aria-label": "Label matrix: one switch per pair", onkeydown: (event) => this.onGridKey(event) });
    return card("Labels Y", "tap to edit", parts.grid,
      h("div", { class: "cw-shape" }, parts.rows.box, parts.columns.box));
  }

  buildWeights(parts) {
    parts.weights = h("div", { class: "cw-weights" });
    return card("Weight on each pair", "in units of 1/mn", parts.weights, legend());
  }

  buildObjective(parts) {
    this.control(choice, "pointwise", { label: "Loss", options: [["logistic", "logistic"], ["square", "square"]] });
    this.control(slider, "fit", { text: "Scores:", min: 0, max: 1, step: 0.05, words: (fit) => (fit === 0 ? "all 0, the model knows nothing" : fit === 1 ? "the labels are fitted" : `${Math.round(100 * fit)} % of the way to the labels`) });
    parts.bars = h("div", { class: "cw-bars" });
    return h("details", { class: "cw-objective" }, h("summary", {}, "The objective"),
      h("div", { class: "cw-card" }, h("div", { class: "cw-row" }, parts.pointwise.box, parts.fit.box), parts.bars));
  }

  usePreset(name) {
    const { set, make } = PRESETS[name];
    const chosen = set ?? make(this.presetRandom);
    this.active = mostPopularPositive(chosen.labels);
    this.set(chosen);
  }

  changeLabels(labels) {
    const { total } = countLabels(labels);
    const [{ batch_size: before }, largest] = [this.state(), this.state().batch_size === this.result.total];
    const batch_size = Math.max(2, largest ? total : Math.min(before, total)); // the largest batch stays the largest
    this.set({ labels, batch_size });
  }

  toggle(i, j) {
    this.active = [i, j];
    this.changeLabels(mapCells(this.state().labels, (label, row, column) => (row === i && column === j ? 1 - label : label)));
  }

  /** One row or column more, with a positive in it, or the last one less. */
  resize(what, more) {
    const turn = what === "column" ? transposed : (matrix) => matrix;
    const rows = turn(this.state().labels);
    const longer = () => [...rows, rows[0].map((_, k) => Number(k === rows.length % rows[0].length))];
    this.changeLabels(turn(more ? longer() : rows.slice(0, -1)));
  }

  onGridKey(event) {
    const labels = this.state().labels;
    const last = [labels.length - 1, labels[0].length - 1];
    const [i, j] = this.active;
    const target = {
      ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
      Home: [event.ctrlKey ? 0 : i, 0], End: [event.ctrlKey ? last[0] : i, last[1]],
    }[event.key];
    if (!target) return;
    event.preventDefault();
    this.activate(Math.min(Math.max(target[0], 0), last[0]), Math.min(Math.max(target[1], 0), last[1]));
    this.cell(...this.active).focus();
  }

  activate(i, j) {
    this.follower.settle();
    this.cell(...this.active)?.setAttribute("tabindex", "-1");
    this.active = [i, j];
    this.cell(i, j).setAttribute("tabindex", "0");
    this.inspect(i, j);
    if (this.result.problem) return;
    this.showWeights(this.state());
  }

  cell(i, j) {
    return this.cells[i]?.[j];
  }

  refresh(parts, state) {
    this.result = analyse(state);
    this.active = [Math.min(this.active[0], state.labels.length - 1), Math.min(this.active[1], state.labels[0].length - 1)];
    this.showControls(state);
    this.showGrid(state);
    this.showWeights(state);
    this.showObjective();
    this.inspect(...this.active);
    this.fold({ numbers: () => tableOf(state, this.result), python: asPython(state, this.result) });
  }

  showControls({ kind, labels }) {
    const { parts, result } = this;
    const total = Math.max(result.total, 2);
    parts.batchSize.input.max = total;
    parts.batchSize.input.disabled = result.total < 3;
    parts.batchSize.show(result.problem ? 2 : result.batchSize, result.problem ? "" : `${result.batchSize} of ${result.total}, ρ = ${number(result.rho)}`);
    parts.omega.box.hidden = kind !== "unbiased_omega";
    parts.message.textContent = [result.problem, ...result.warnings].filter(Boolean).join(" ");
    parts.message.hidden = !parts.message.textContent;
    parts.rows.show(labels.length);
    parts.columns.show(labels[0].length);
  }

  showGrid({ labels }) {
    const { grid } = this.parts;
    const shape = `${labels.length}x${labels[0].length}`;
    if (grid.dataset.shape !== shape) {
      grid.replaceChildren(...this.gridRows(labels));
      grid.dataset.shape = shape;
      grid.setAttribute("style", `--cw-columns:${labels[0].length}`);
    }
    const { rows, columns } = countLabels(labels);
    mapCells(labels, (label, i, j) => {
      const button = this.cell(i, j);
      const mistaken = this.isMistaken(i, j);
      button.setAttribute("aria-pressed", String(label === 1));
      button.setAttribute("aria-label", `row ${i + 1}, column ${j + 1}${mistaken ? ", mistaken positive" : ""}`);
      button.setAttribute("tabindex", i === this.active[0] && j === this.active[1] ? "0" : "-1");
      button.textContent = String(label);
      button.setAttribute("class", `cw-cell${mistaken ? " cw-mistaken" : ""}`);
    });
    this.rowTotals.forEach((cell, i) => (cell.textContent = rows[i]));
    this.columnTotals.forEach((cell, j) => (cell.textContent = columns[j]));
  }

  gridRows(labels) {
    const heads = labels[0].map((_, j) => h("div", { role: "columnheader", class: "cw-axis" }, `C${j + 1}`));
    const head = h("div", { role: "row" }, h("div", { role: "gridcell", class: "cw-axis" }), heads, h("div", { role: "columnheader", class: "cw-axis cw-total", "aria-label": "positives in the row" }, "Σ"));
    this.cells = mapCells(labels, (_, i, j) => h("button", {
      type: "button", "data-cell": `${i},${j}`, onclick: () => this.toggle(i, j), onfocus: () => this.activate(i, j), onpointerenter: () => this.inspect(i, j),
    }));
    this.rowTotals = labels.map(() => h("div", { role: "gridcell", class: "cw-axis cw-total" }));
    this.columnTotals = labels[0].map(() => h("div", { role: "gridcell", class: "cw-axis cw-total" }));
    const body = this.cells.map((row, i) => h("div", { role: "row" },
      h("div", { role: "rowheader", class: "cw-axis" }, `R${i + 1}`), row.map((cell) => h("div", { role: "gridcell" }, cell)), this.rowTotals[i]));
    const foot = h("div", { role: "row" },
      h("div", { role: "rowheader", class: "cw-axis", "aria-label": "positives in the column" }, "Σ"), this.columnTotals, h("div", { role: "gridcell", class: "cw-axis" }));
    return [head, ...body, foot];
  }

  isMistaken(i, j) {
    return !this.result.problem && isIn(this.result.mistaken, i, j);
  }

  showWeights({ labels }) {
    const { parts, result } = this;
    if (result.problem) {
      parts.weights.replaceChildren(h("p", { class: "cw-empty" }, "No batch can be drawn yet."));
      return;
    }
    const heatMap = this.heatMap(labels.length, labels[0].length);
    if (heatMap.root.parentNode !== parts.weights) parts.weights.replaceChildren(heatMap.root);
    heatMap.update({ labels, ...result.weights, asked: result.full.negative, crossed: (i, j) => this.isMistaken(i, j), selected: this.active, name: `Expected weights. ${this.story}` });
  }

  inspect(i, j) {
    const { parts, result } = this;
    const { labels, pointwise } = this.state();
    if (result.problem || i >= labels.length || j >= labels[0].length) {
      parts.inspector.textContent = "";
      return;
    }
    const { rows, columns } = countLabels(labels);
    const label = labels[i][j];
    const words = this.weightsOf(label, pointwise, i, j);
    parts.inspector.replaceChildren(h("strong", {}, pairName([i, j])), ` ${label ? "positive" : "negative"}, popularity ${rows[i]} × ${columns[j]} = ${rows[i] * columns[j]}: `, ...words);
  }

  weightsOf(label, pointwise, i, j) {
    const { weights } = this.result;
    const [pull, push] = [weights.positive[i][j], weights.negative[i][j]];
    const best = pull + push > 0 ? ` Best score alone: ${number(bestScore(pointwise, pull, push))}.` : " No batch ever meets it.";
    const pulled = label ? `pulled together ${number(pull)}, pushed apart ${number(push)} (asked: 1 and 0).` : `pushed apart ${number(push)} (asked: 1).`;
    return [pulled, best, this.isMistaken(i, j) ? h("strong", {}, " Mistaken.") : ""];
  }

  showObjective() {
    const { parts, result } = this;
    if (result.problem) {
      parts.bars.replaceChildren();
      return;
    }
    const most = Math.max(result.expected.total, result.wanted.total, 1e-12);
    parts.bars.replaceChildren(
      bar("Expected over batches", result.expected, most),
      bar("Full objective, all pairs", result.wanted, most));
  }
});

// ---- numbers and words; the sentences are the text equivalent of the picture --------------------------------------------

const pairName = ([i, j]) => `R${i + 1}–C${j + 1}`;

/** Why nothing can be computed, or null. */
function problem(labels) {
  const { total } = countLabels(labels);
  if (total >= 2) return null;
  const count = total === 1 ? "one positive pair" : "no positive pair";
  return `There is ${count}. In-batch sampling needs at least two: a batch of one pair holds no negatives. Switch on a cell of the label matrix.`;
}

/** What holds no longer, though numbers can be computed. */
function warnings(labels) {
  const { rows, columns } = countLabels(labels);
  const names = (counts, letter) => counts.flatMap((count, k) => (count === 0 ? [`${letter}${k + 1}`] : []));
  const empty = [...names(rows, "R"), ...names(columns, "C")];
  if (!empty.length) return [];
  const verb = empty.length === 1 ? "has" : "have";
  return [`${list(empty)} ${verb} no positive, so no batch ever meets the pairs there and no weighting can repair it (P3’s Assumption E.1).`];
}

/** All numbers of the picture. Weights are multiplied by m n: the full objective gives every pair a weight of one. */
function analyse({ labels, kind, batch_size, omega, pointwise, fit }) {
  const { total } = countLabels(labels);
  const trouble = problem(labels);
  if (trouble) return { problem: trouble, warnings: [], total };
  const batchSize = Math.min(Math.max(batch_size, 2), total);
  const cells = labels.length * labels[0].length;
  const weights = expectedWeights(kind, { labels, batchSize, omega });
  const losses = pairLosses(pointwise, fittedScores(labels, pointwise, fit));
  return {
    problem: null,
    warnings: warnings(labels),
    kind,
    total,
    batchSize,
    omega,
    rho: balance(batchSize, total),
    popularity: pairPopularity(labels),
    threshold: popularityThreshold(kind, { batchSize, positives: total }),
    weights: scaled(weights, cells),
    full: scaled(fullWeights(labels), cells),
    mistaken: mistakenPairs(labels, weights),
    losses,
    expected: objectiveParts(labels, weights, losses),
    wanted: objectiveParts(labels, fullWeights(labels), losses),
  };
}

const scaled = (weights, factor) => ({
  positive: mapCells(weights.positive, (w) => w * factor),
  negative: mapCells(weights.negative, (w) => w * factor),
});

/** Scores of a model between "knows nothing" (fit 0, all scores 0) and "fits" (fit 1: scores 0 and 1, or -4 and 4). */
function fittedScores(labels, pointwise, fit) {
  return mapCells(labels, (label) => fit * (pointwise === "square" ? label : 8 * label - 4));
}

/** The sentences, in order. */
function sentences({ labels, fit }, result) {
  if (result.problem) return [result.problem];
  return [
    opening(result),
    aboutMistakes(result),
    aboutNegatives(labels, result),
    aboutObjective(fit, result),
    ...result.warnings,
  ].filter(Boolean);
}

function opening({ kind, batchSize, total, rho, omega }) {
  const chosen = kind === "unbiased_omega" ? `, ω = ${number(omega)}` : "";
  return `${KIND_NAMES[kind]} loss, batches of ${batchSize} of ${total} positives (balance ρ = ${number(rho)}${chosen}).`;
}

function aboutMistakes({ mistaken, total, threshold }) {
  if (!mistaken.length) return "No positive pair is mistaken for a negative.";
  const verb = mistaken.length === 1 ? "is" : "are";
  return `${mistaken.length} of ${total} positive pairs ${verb} mistaken: ${list(mistaken.map(pairName))} ${verb} pushed apart harder ` +
    `than pulled together, because the popularity of such a pair, its row count times its column count, is above ${number(threshold)}.`;
}

function aboutNegatives(labels, { weights }) {
  const values = weights.negative.flatMap((row, i) => row.filter((_, j) => !labels[i][j]));
  if (!values.length) return "There is no negative pair.";
  const [low, high] = [number(Math.min(...values)), number(Math.max(...values))];
  const range = low === high ? `Every negative pair weighs ${low}` : `Negative pairs weigh from ${low} to ${high}`;
  return `${range}; the full objective gives each 1.`;
}

function aboutObjective(fit, { expected, wanted }) {
  const scores = fit === 0 ? "all scores 0" : fit === 1 ? "scores that fit the labels" : `scores ${Math.round(100 * fit)} % of the way to the labels`;
  return `With ${scores} the expected objective is ${number(expected.total)} and the full objective ${number(wanted.total)}.`;
}

const HEADS = ["Pair", "Label", "Popularity", "Pull together", "Push apart", "Push apart in the full objective", "Best score", "Mistaken for a negative"];

/** The table of all numbers, [heads, rows, caption]: a row for each pair; none where nothing can be computed. */
function tableOf({ labels, pointwise }, result) {
  const { problem: trouble, weights, popularity, full, mistaken } = result;
  if (trouble) return [HEADS, [], trouble];
  const wrong = mistaken.map(pairName);
  const rows = mapCells(labels, (label, i, j) => {
    const name = pairName([i, j]);
    const [pull, push] = [weights.positive[i][j], weights.negative[i][j]];
    const alone = pull + push > 0 ? number(bestScore(pointwise, pull, push)) : "none";
    return [name, String(label), String(popularity[i][j]), number(pull), number(push), number(full.negative[i][j]), alone, wrong.includes(name) ? "yes" : "no"];
  }).flat();
  return [HEADS, rows, "Expected weights, scaled so that the full objective gives every pair 1."];
}

/** Lines of Python that compute the weights, and show the same state. */
function asPython({ labels, kind, batch_size, omega, pointwise, fit }) {
  const { total } = countLabels(labels);
  const computes = total < 2 ? [] : [
    "labels = np.array(shown.labels)",
    "met = np.ix_(labels.any(axis=1), labels.any(axis=0))  # the rows and columns that batches meet",
    `weights = in_batch.expected_weights("${kind}", labels=labels[met], batch_size=${Math.min(Math.max(batch_size, 2), total)}${kind === "unbiased_omega" ? `, omega=${omega}` : ""})`,
    "pull, push = (labels[met].size * weight for weight in weights)  # the full objective has 1",
    'print(pull.round(2), push.round(2), sep="\\n")'];
  return [
    "import numpy as np", "", "from course_lib import in_batch", "from course_lib.lessons.in_batch_bias.in_batch_weights import InBatchWeights", "",
    "shown = InBatchWeights(", `    [${labels.map((row) => `[${row.join(", ")}]`).join(", ")}],`,
    `    batch_size=${batch_size}, kind="${kind}", omega=${omega}, pointwise="${pointwise}", fit=${fit},`, ")", ...computes, "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const CELL = { width: 58, height: 64, glyph: 34, left: 26, top: 20 };

/** The positive pair that weighs most, where a reader should look first. */
function mostPopularPositive(labels) {
  const popularity = pairPopularity(labels);
  return positivePairs(labels).reduce((best, pair) => (popularity[pair[0]][pair[1]] > popularity[best[0]][best[1]] ? pair : best), [0, 0]);
}

const transposed = (matrix) => matrix[0].map((_, j) => matrix.map((row) => row[j]));

const isIn = (pairs, i, j) => pairs.some(([row, column]) => row === i && column === j);

/** A square whose area is the size of a weight: hatched on a positive; below zero hollow, with a minus. */
class Square {
  constructor() {
    this.root = svg("g", { class: "cw-square" },
      svg("rect", { x: -0.5, y: -0.5, width: 1, height: 1 }),
      (this.lines = svg("path", { class: "cw-hatch" })),
      svg("path", { class: "cw-minus", d: "M-0.3 0H0.3" }));
  }

  place(x, y, weight, unit, onPositive) {
    const side = unit * Math.sqrt(Math.abs(weight));
    this.lines.setAttribute("d", hatch(-0.5, -0.5, 1, Math.min(0.5, 4.5 / Math.max(side, 1e-9))));
    this.root.setAttribute("class", `cw-square${onPositive && weight > 0 ? " cw-hatched" : ""}${weight < 0 ? " cw-below-zero" : ""}`);
    place(this.root, x, y, side);
    return this.root;
  }
}

/** A number for each pair, as a square, and what is asked of it, as a dashed frame; a ring for the pull on a positive, where there is one. */
class HeatMap {
  constructor(m, n, onEnter) {
    const { width, height, left, top } = CELL;
    this.cells = Array.from({ length: m }, (_, i) => Array.from({ length: n }, (__, j) => this.cell(i, j, onEnter)));
    const wide = left + n * width + 2;
    this.root = drawing({ width: wide, height: top + m * height + 2, most: 1.25 * Math.min(wide, 290) }, {},
      Array.from({ length: n }, (_, j) => svg("text", { class: "cw-axis-text", x: left + (j + 0.5) * width, y: 13 }, `C${j + 1}`)),
      Array.from({ length: m }, (_, i) => svg("text", { class: "cw-axis-text", x: 11, y: top + (i + 0.5) * height + 4 }, `R${i + 1}`)),
      this.cells.flat().map(({ group }) => group));
  }

  cell(i, j, onEnter) {
    const [left, top] = [CELL.left + j * CELL.width, CELL.top + i * CELL.height];
    const text = (kind, x, y) => svg("text", { class: kind, x: left + x, y: top + y });
    const cell = {
      x: left + CELL.width / 2,
      y: top + 28,
      box: svg("rect", { x: left + 1.5, y: top + 1.5, width: CELL.width - 3, height: CELL.height - 3, rx: 6 }),
      square: new Square(),
      ring: svg("circle", { class: "cw-ring", r: 1 / Math.sqrt(Math.PI) }),
      asked: svg("rect", { class: "cw-asked", x: -0.5, y: -0.5, width: 1, height: 1 }),
      cross: text("cw-cross", CELL.width - 8, 14),
      pull: text("cw-pull-text", 5, 13),
      push: text("cw-number", CELL.width / 2, CELL.height - 7),
    };
    const { box, square, ring, asked, cross, pull, push } = cell;
    return { ...cell, group: svg("g", { class: "cw-weight", onpointerenter: () => onEnter(i, j) }, box, square.root, ring, asked, cross, pull, push) };
  }

  update({ labels, positive, negative, asked, crossed, selected, name }) {
    const sizes = [...negative.flat(), ...positive.flat()].map(Math.abs);
    const unit = CELL.glyph / Math.sqrt(Math.max(1, ...sizes));
    this.root.setAttribute("aria-label", name);
    mapCells(labels, (label, i, j) => {
      const cell = this.cells[i][j];
      const wrong = crossed(i, j);
      const [pull, push] = [positive[i][j], negative[i][j]];
      cell.box.setAttribute("class", `cw-box${label ? " cw-box-positive" : ""}${wrong ? " cw-box-wrong" : ""}`);
      cell.group.setAttribute("class", `cw-weight${selected[0] === i && selected[1] === j ? " cw-selected" : ""}`);
      cell.square.place(cell.x, cell.y, push, unit, label === 1);
      place(cell.ring, cell.x, cell.y, unit * Math.sqrt(Math.max(pull, 0)));
      place(cell.asked, cell.x, cell.y, unit * Math.sqrt(asked[i][j]));
      cell.cross.textContent = wrong ? "✕" : "";
      cell.pull.textContent = label ? number(pull) : "";
      cell.push.textContent = number(push);
    });
  }
}

/** A unit mark moved to (x, y) and grown to a size; the style sheet lets it glide. */
function place(mark, x, y, size) {
  mark.style.transform = `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px) scale(${size.toFixed(3)})`;
  mark.style.visibility = size > 0.01 ? "" : "hidden";
}

const unitFrame = { x: -0.5, y: -0.5, width: 1, height: 1 };
const still = (mark, size) => { place(mark, 10, 10, size); return mark; };
const crossKey = (text) => key(text, svg("rect", { class: "cw-box cw-box-wrong", x: 2, y: 2, width: 16, height: 16, rx: 3 }), svg("text", { class: "cw-cross", x: 10, y: 14 }, "✕"));
const frameKey = (text) => key(text, still(svg("rect", { class: "cw-asked", ...unitFrame }), 14));

const legend = () => h("ul", { class: "cw-legend" },
  key("pull, weight of ℓ⁺", still(svg("circle", { class: "cw-ring", r: 0.5 }), 14)),
  key("push, weight of ℓ⁻", new Square().place(10, 10, 1, 14, false)),
  key("push on a positive", new Square().place(10, 10, 1, 14, true)),
  frameKey("push asked for"), crossKey("mistaken positive"));

/** One stacked bar with its parts written out. */
function bar(name, parts, most) {
  const pieces = [["pull", parts.pull, "cw-piece-pull"], ["push on positives", parts.pushOnPositives, "cw-piece-wrong"], ["push on negatives", parts.pushOnNegatives, "cw-piece-push"]];
  const words = pieces.map(([word, value]) => `${word} ${number(value)}`).join(" + ");
  return barUnder([name, " ", h("strong", {}, number(parts.total)), " ", h("span", { class: "cw-soft" }, `= ${words}`)],
    pieces.filter(([, value]) => value > 0).map(([, value, look]) => barPiece(look, value / most)));
}

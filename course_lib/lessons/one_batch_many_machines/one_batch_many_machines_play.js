// The interactive "one batch on many machines": which scores P processes compute, what becomes of the gradient, what a step costs.
import { drawing, h, hatch, sized, svg, thousands } from "../shared/widgets/kit.js";
import { Interactive, choice, hero, ladder, presets, showing, slider } from "../shared/widgets/controls.js";
import { analyseMachines, inBytes, inSeconds, withUnit } from "./machines_math.js";

const NAMES = ["processes", "batch", "gather", "rows", "reduction", "times_world", "d", "bandwidth", "rate", "tower", "everything"];
const BATCHES = [1, 2, 4, 8, 16, 64, 256, 1024, 4096, 16384];
const WIDTHS = [8, 16, 32, 64, 128, 256, 512, 1024];
const SPEEDS = [0.01, 0.1, 1, 10, 25, 100, 400];
const RATES = [0.01, 0.1, 1, 10, 100, 1000];
const TOWERS = [0.01, 1, 100, 10000];

const recipe = (gather, rows, times) => ({ processes: 4, batch: 1024, gather, rows, reduction: "mean", times_world: times });
const PRESETS = {
  local: { text: "Each for itself", set: recipe("none", "own", false) },
  constants: { text: "Constants", set: recipe("constant", "own", false) },
  timesConstants: { text: "Constants × P", set: recipe("constant", "own", true) },
  wholeConstants: { text: "All rows × P", set: recipe("constant", "all", true) },
  carried: { text: "With gradients", set: recipe("gradients", "own", false) },
  timesCarried: { text: "With gradients × P", set: recipe("gradients", "own", true) },
};
const PARTS = ["to the queries", "to items, from own rows", "to items, from others’ rows", "to the temperature"];

export default showing(NAMES, class extends Interactive {
  build(parts) {
    const yesNo = [[false, "no"], [true, "yes"]];
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    this.control(slider, "processes", { text: "Machines P", min: 1, max: 8, step: 1 });
    this.control(ladder, "batch", { text: "Pairs of each, B", values: BATCHES, words: thousands });
    this.control(choice, "gather", { label: "Other machines’ films arrive", options: [["none", "not at all"], ["constant", "as constants"], ["gradients", "with gradients"]] });
    this.control(choice, "rows", { label: "Rows in a loss", options: [["own", "its own"], ["all", "all"]] });
    this.control(choice, "reduction", { label: "Taken as", options: [["mean", "mean"], ["sum", "sum"]] });
    this.control(choice, "times_world", { label: "Loss times P", options: yesNo });
    this.control(ladder, "d", { text: "Width d", values: WIDTHS });
    this.control(ladder, "bandwidth", { text: "Network", values: SPEEDS, words: (gigabytes) => `${inBytes(gigabytes * 1e9)}/s` });
    this.control(ladder, "rate", { text: "Computing", values: RATES, words: (rate) => `${inOperations(rate * 1e12)}/s` });
    this.control(ladder, "tower", { text: "Towers, one pair", values: TOWERS, words: (tower) => inOperations(tower * 1e6) });
    parts.factors = h("div", {});
    parts.verdict = h("p", { class: "cw-small-title" });
    this.grid = new Grid();
    return hero(this, {
      head: { look: "", title: "A batch on several machines loses blocks of its gradient", lead: "Every square is the score of a person and a film. Blue: the person’s own film, pulled. Orange: other films, pushed away; hatched: by another machine." },
      controls: [parts.gather.box, parts.processes.box],
      picture: this.grid.root,
      more: {
        start: parts.presets.box,
        main: [parts.batch.box, parts.rows.box, parts.reduction.box, parts.times_world.box, h("div", { class: "cw-pair cw-stays" }, parts.d.box, parts.bandwidth.box, parts.rate.box, parts.tower.box)],
        view: h("div", { class: "cw-card" }, h("p", { class: "cw-card-title" }, "Averaged gradient ", h("span", { class: "cw-soft" }, "(goal: 1)")), parts.factors, parts.verdict),
      },
    });
  }

  refresh(parts, state) {
    this.found = analyseMachines(state);
    this.story = state.everything ? [settings(state, this.found), verdict(state, this.found), aboutCost(state, this.found)].join(" ") : point(state, this.found);
    this.grid.show(state, this.found, { narrow: this.narrow, name: this.story });
    parts.factors.replaceChildren(factorsPicture(state, this.found));
    parts.verdict.textContent = shortVerdict(state, this.found);
    this.fold({ numbers: () => [["", "P processes", "one process, P B pairs"], rows(state, this.found), "Bytes and times are those of each process, by our simple cost model."], python: asPython(state) });
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

const inOperations = (count) => withUnit(count, [[1e15, "Pflop"], [1e12, "Tflop"], [1e9, "Gflop"], [1e6, "Mflop"], [1e3, "kflop"]]);

const pairs = (count) => (count === 1 ? "1 pair" : `${thousands(count)} pairs`);
const negatives = (count) => (count === 1 ? "1 negative" : `${thousands(count)} negatives`);

/** 1/4, 1, 8: a factor of a gradient. */
const factorText = (factor) => (factor === null ? "another loss" : factor > 0 && factor < 1 ? `1/${Math.round(1 / factor)}` : String(factor));

function settings({ processes, batch }, { negatives: count }) {
  const who = processes === 1 ? `One process with ${pairs(batch)}` : `${processes} processes with ${pairs(batch)} each`;
  return `${who}: ${negatives(count)} for each pair.`;
}

function verdict({ processes, batch, gather }, { exact, common, factors, negatives: count, all }) {
  const one = `one process with ${pairs(processes * batch)}`;
  if (processes === 1) return "There is nothing to gather.";
  if (exact) return `The averaged gradient is exactly that of ${one}.`;
  if (gather === "none") return `This is another loss than that of ${one}: each row’s softmax has ${negatives(count)} instead of ${thousands(all)}.`;
  const direct = factors[3] === common ? "" : ` That of the temperature is ${factors[3] === 1 ? "exact" : `${factorText(factors[3])} times as large`}.`;
  if (common === 1) return `The gradients of all vectors are exactly those of ${one}.${direct}`;
  if (common !== null) return `The gradient of every vector is ${factorText(common)} times that of ${one}: its direction is right, its length is not.${direct}`;
  const rest = factors[0] === 1 ? "The rest is exact" : `The rest is ${factorText(factors[0])} times that of ${one}`;
  return `The push on items from the rows of other processes is missing, as nobody tells the process that owns an item. ${rest}. No learning rate repairs this.`;
}

/** How many of the batch's pushes on a film are lost, and those words. */
function pushes({ processes, batch, gather }, { whole, all }) {
  const kept = processes === 1 || gather === "gradients" || (gather === "constant" && whole) ? all : batch - 1;
  return { lost: all - kept, count: `${thousands(kept < all ? all - kept : all)} of ${thousands(all)}` };
}

/** The point of the grid. */
function point(state, found) {
  const { count, lost } = pushes(state, found);
  const every = found.all === 1 ? "its one push" : `all of its ${thousands(found.all)} pushes`;
  if (state.processes === 1) return `On one machine every film gets ${every}.`;
  if (!lost) return `Every film gets ${every}, as on one machine.${found.exact ? "" : found.common === 1 ? " But the gradient of the temperature is wrong." : " But the gradient has the right direction and the wrong length."}`;
  const why = state.gather === "none" ? "a machine knows its own films only" : "the gradient ends where a film arrives as a constant";
  return `A film loses ${found.all === 1 ? "its one push" : `${count} pushes`}: ${why}, and nothing warns you.`;
}

/** One line under the factors. */
function shortVerdict({ processes, gather }, { exact, common }) {
  if (processes === 1) return "✓ One process: nothing to gather.";
  if (exact) return "✓ Exactly that of one process.";
  if (gather === "none") return "✕ Another loss: fewer negatives.";
  if (common === null) return "✕ A part is missing.";
  return common === 1 ? "✕ Exact, but for the temperature." : "✕ Right direction, wrong length.";
}

function aboutCost({ processes }, { sent, gramians, seconds, one }) {
  const total = inSeconds(sum(seconds));
  if (processes === 1) return `By our simple cost model, a step takes ${total}.`;
  const what = sent === 0 ? "Nothing is sent for the loss" : `Each process sends ${inBytes(sent)} for the loss`;
  return `${what}; the sums of two Gramians would be ${inBytes(gramians)}, whatever the batch. By our simple cost model, a step takes ${total}, and ${inSeconds(sum(one))} in one process.`;
}

const sum = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);

const rows = ({ processes, batch, d }, { factors, negatives: count, all, sent, gramians, seconds, one }) => [
  ...PARTS.map((part, k) => [`gradient ${part}`, factorText(factors[k]), "1"]),
  ["negatives of a pair", thousands(count), thousands(all)],
  ["bytes sent for the loss", thousands(sent), "0"],
  ["bytes sent for two Gramians", thousands(Math.round(gramians)), "0"],
  ...["towers", "scores", "network"].map((part) => [`time: ${part}`, seconds[part] ? inSeconds(seconds[part]) : "0", one[part] ? inSeconds(one[part]) : "0"]),
  ["time of a step", inSeconds(sum(seconds)), inSeconds(sum(one))],
  ["pairs in a step, d", `${thousands(processes * batch)}, ${d}`, `${thousands(processes * batch)}, ${d}`],
];

/** Lines of Python that compute factors, bytes and seconds, and show the same state. */
function asPython({ processes, batch, gather, rows: which, reduction, times_world: times, d, bandwidth, rate, tower }) {
  return [
    "from course_lib.lessons.one_batch_many_machines.one_batch_many_machines_play import OneBatchManyMachines", "",
    "shown = OneBatchManyMachines(", `    processes=${processes}, batch=${batch}, gather="${gather}", rows="${which}", reduction="${reduction}", times_world=${times ? "True" : "False"},`,
    `    d=${d}, bandwidth=${bandwidth}, rate=${rate}, tower=${tower},`, ")",
    "factors = shown.factors()  # course_lib.processes.gradient_factors",
    "sent, seconds = shown.bytes_sent(), sum(shown.seconds().values())", "print(factors, sent, seconds)", "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

/** Squares along the side of a block: one for each pair, or eight where there are many. */
const squaresIn = (batch) => (batch > 16 ? 8 : batch);

/** All scores in blocks, a row of blocks for each machine's people. A block that is lost fades. */
class Grid {
  constructor() {
    this.root = svg("svg", { role: "img" });
    this.count = svg("text");
    this.under = svg("text", { class: "cw-hero-text cw-hero-under" });
  }

  show(state, found, { narrow, name }) {
    const { processes, batch, gather } = state;
    const frame = narrow ? { width: 358, height: 420, side: 286, left: 44, top: 34, at: [44, 378, 400] } : { width: 920, height: 420, side: 350, left: 160, top: 38, at: [580, 150, 178] };
    const key = [processes, batch, narrow].join();
    if (this.key !== key) this.build(state, frame);
    this.key = key;
    const { count, lost } = pushes(state, found);
    this.root.setAttribute("aria-label", name);
    this.far.forEach(({ block, word }) => {
      block.setAttribute("class", `cw-block ${lost && gather === "constant" ? "cw-hatched" : ""}`);
      word.textContent = lost && processes <= 2 && !narrow ? "lost" : "";
      block.setAttribute("style", `opacity:${lost ? (gather === "none" ? 0.12 : 0.45) : 1}`);
    });
    this.count.setAttribute("class", `cw-hero-text cw-hero-count${count.length > 10 ? " cw-small" : ""}`);
    this.count.textContent = count;
    this.under.textContent = !lost ? "pushes on a film arrive" : gather === "none" ? "wrong answers are missing" : "pushes on a film are lost, silently";
  }

  build({ processes, batch }, { width, height, side, left, top, at }) {
    const each = Array.from({ length: processes }, (_, k) => k);
    const [step, cells] = [side / processes, squaresIn(batch)];
    const [block, gap] = [step - 6, 3];
    const square = block / cells;
    const lines = Array.from({ length: cells - 1 }, (_, k) => ((k + 1) * square).toFixed(1)).map((place) => `M${place} 0v${block}M0 ${place}h${block}`).join("");
    const own = Array.from({ length: cells }, (_, k) => `M${(k * square).toFixed(1)} ${(k * square).toFixed(1)}h${square.toFixed(1)}v${square.toFixed(1)}h${(-square).toFixed(1)}z`).join("");
    const made = each.flatMap((p) => each.map((other) => {
      const inside = svg("g", { class: "cw-block" }, svg("path", { class: "cw-petal", d: `M0 0h${block}v${block}h${-block}z` }), square >= 5 ? svg("path", { class: "cw-frame", d: lines }) : null,
        p === other ? svg("path", { class: "cw-item cw-plain", d: own }) : svg("path", { class: "cw-hatch", d: hatch(0, 0, block, Math.max(6, block / 9)) }));
      const word = svg("text", { class: "cw-hero-text cw-middle", x: (block / 2).toFixed(1), y: (block / 2 + 5).toFixed(1) });
      return { far: p !== other, block: inside, word, root: svg("g", { transform: `translate(${(left + other * step + gap).toFixed(1)} ${(top + p * step + gap).toFixed(1)})` }, inside, word) };
    }));
    this.far = made.filter(({ far }) => far);
    const words = (kind, x, y, text) => svg("text", { class: `cw-hero-text ${kind}`, x, y }, text);
    const long = processes <= 2 && width > 400;
    sized(this.root, { width, height });
    const column = batch <= 16 ? svg("path", { class: "cw-ring-now", d: `M${left + gap} ${top + gap}h${square.toFixed(1)}v${side - 2 * gap}h${(-square).toFixed(1)}z` }) : svg("g"); // of one film
    this.root.replaceChildren(...made.map(({ root }) => root), column,
      ...each.flatMap((k) => [words("cw-middle cw-soft", left + (k + 0.5) * step, top - 16, long ? `films of machine ${k + 1}` : k ? String(k + 1) : "films of 1"),
        words("cw-end cw-soft", left - 16, top + (k + 0.5) * step + 5, long ? `people of machine ${k + 1}` : String(k + 1))]), this.count, this.under);
    [this.count, this.under].forEach((text, k) => [["x", at[0]], ["y", at[1 + k]]].forEach(([key, value]) => text.setAttribute(key, value)));
  }
}

const SCALE = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];

function factorsPicture(state, { factors }) {
  const [width, left, right, top, each] = [290, 12, 14, 14, 34];
  const x = (factor) => (factor === 0 ? left + 6 : left + 36 + ((Math.log2(factor) + 3) / 6) * (width - left - right - 44));
  const bottom = top + each * PARTS.length;
  const words = `Factors of the gradient: ${PARTS.map((part, k) => `${part} ${factorText(factors[k])}`).join("; ")}`;
  return drawing({ width, height: bottom + 20 }, { "aria-label": words },
    [0, ...SCALE].map((factor) => svg("text", { class: "cw-axis-text", x: x(factor), y: bottom + 15 }, factorText(factor))),
    PARTS.map((part, k) => factorLine(part, factors[k], top + k * each, { x, left, right: width - right })));
}

/** A part of the gradient: its name, a line from 0, and a disc where it is right, a cross where it is not. */
function factorLine(part, factor, y, { x, left, right }) {
  const [text, line] = [y, y + 16];
  const name = svg("text", { class: "cw-axis-text cw-start", x: left, y: text, style: "fill:var(--cw-ink)" }, part);
  if (factor === null) return [name, svg("path", { class: "cw-bend", d: `M${left} ${line}H${right}` }), svg("text", { class: "cw-cross", x: right, y: text, style: "text-anchor:end" }, "✕ another loss")];
  const goal = svg("path", { class: "cw-level", "stroke-width": 2, d: `M${x(1)} ${line - 8}v16` });
  const mark = factor === 1 ? svg("circle", { class: "cw-item cw-plain", cx: x(1), cy: line, r: 6.5 }) : svg("path", { class: "cw-off", d: `M${x(factor) - 5} ${line - 5}l10 10m-10 0l10 -10` });
  return [name, svg("path", { class: "cw-frame", d: `M${left} ${line}H${right}` }), svg("path", { class: factor === 1 ? "cw-level" : "cw-bend", "stroke-width": 2, d: `M${left} ${line}H${x(factor)}` }), goal, mark,
    svg("text", { class: factor === 1 ? "cw-pull-text" : "cw-cross", x: right, y: text, style: "text-anchor:end" }, `${factor === 1 ? "✓" : "✕"} ${factorText(factor)}`)];
}

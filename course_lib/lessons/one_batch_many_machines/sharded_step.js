// The interactive "tables larger than a machine": memory, bytes and seconds of a step for the reader's own numbers.
import { drawing, h, number, svg, thousands, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barPiece, barUnder, beside, card, choice, framed, ladder, presets, showing } from "../shared/widgets/controls.js";
import { analyseShards, inBytes, inSeconds, withUnit } from "./machines_math.js";

const NAMES = ["prices", "users", "items", "pairs", "width", "batch", "processes", "bandwidth", "memory", "speed", "itemsize", "optimizer"];
const powers = (...exponents) => exponents.flatMap((exponent) => [1, 2, 5].map((digit) => digit * 10 ** exponent));
const STEPS = {
  users: powers(3, 4, 5, 6, 7, 8, 9), items: powers(3, 4, 5, 6, 7, 8), pairs: powers(5, 6, 7, 8, 9, 10, 11),
  width: [8, 16, 32, 64, 128, 256, 512, 1024], batch: [64, 256, 512, 1024, 2048, 4096, 8192, 16384], processes: [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024],
  bandwidth: [0.125, 1.25, 3.125, 12.5, 50, 200, 900], memory: [2, 4, 8, 16, 24, 40, 80, 141, 512, 2000], speed: [1, 3, 10, 30, 100, 300, 1000],
};

const LARGE = { users: 1e8, items: 2e7, pairs: 5e9, width: 128, batch: 4096, processes: 16, bandwidth: 12.5, memory: 80, speed: 100, itemsize: "2", optimizer: "adam" };
const PRESETS = {
  film: { text: "A film site", set: { users: 1e5, items: 2e4, pairs: 2e7, width: 64, batch: 1024, processes: 2, bandwidth: 1.25, memory: 8, speed: 1, itemsize: "4", optimizer: "adam" } },
  large: { text: "100 M users, 20 M items", set: LARGE },
  eight: { text: "The same on eight machines", set: { ...LARGE, processes: 8, batch: 8192 } },
};

const SENT = { dense: "dense gradients of whole tables", exchanged: "rows of sharded tables, and back", gathered: "vectors of the batch, and back", gramians: "two Gramians instead" };
const PARTS = { computing: ["computing", "cw-piece-pull"], tables: ["sending for the tables", "cw-piece-push"], gathered: ["sending the batch’s vectors", "cw-piece-wrong"] };
const WAYS = { whole: "whole tables", sharded: "sharded tables" };
const OPTIMIZERS = { adam: "Adam", "row-wise": "row-wise AdaGrad" };

export default showing(NAMES, class extends Interactive {
  build(parts) {
    const rung = (name, text, words) => this.control(ladder, name, { text, values: STEPS[name], words }).box;
    const options = (name, label, words) => this.control(choice, name, { label, options: words }).box;
    const [perSecond, gigabytes, cores] = [(value) => `${inBytes(value * 1e9)}/s`, (value) => inBytes(value * 1e9), (value) => `${number(value)} core${value === 1 ? "" : "s"}`];
    const two = (...boxes) => h("div", { class: "cw-pair cw-stays" }, boxes);
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    parts.sent = h("div", {});
    for (const name of ["held", "time"]) parts[name] = h("div", { class: "cw-bars", "data-paper": "" });
    return framed({ look: "cw-flow cw-words-across", title: "Tables larger than a machine", lead: "P machines train tables of users and items. What must a machine hold, send and wait for in a step?" }, beside({
      start: parts.presets.box,
      main: [two(rung("users", "Users", inCounts), rung("items", "Items", inCounts)), two(rung("pairs", "Pairs in all", inCounts), rung("width", "Width d", thousands)),
        two(rung("processes", "Machines P", thousands), rung("batch", "Pairs each, B", thousands)), rung("bandwidth", "Network", perSecond)],
      view: h("div", { class: "cw-pair" },
        card("A machine sends in a step", "", parts.sent),
        h("div", { class: "cw-card" }, h("p", { class: "cw-card-title" }, "A machine holds ", h("span", { class: "cw-soft" }, "line: its memory")), parts.held,
          h("p", { class: "cw-card-title cw-below" }, "A step ", h("span", { class: "cw-soft" }, "by the lab’s cost model")), parts.time,
          h("ul", { class: "cw-legend" }, Object.values(PARTS).map(([name, look]) => h("li", {}, h("span", { class: `cw-piece ${look}`, style: "width:0.9rem;height:0.9rem" }), name))))),
      words: parts.summary,
      more: [two(rung("memory", "Memory", gigabytes), rung("speed", "Speed", cores)), options("optimizer", "Optimiser", Object.entries(OPTIMIZERS)), options("itemsize", "Bytes of a number", [["2", "2"], ["4", "4"]])],
    }), parts.folds.box);
  }

  refresh(parts, state) {
    const found = analyseShards(state);
    this.story = [aboutMemory(state, found), aboutBytes(state, found), aboutTime(state, found)].join(" ");
    parts.sent.replaceChildren(sentPicture(found));
    parts.held.replaceChildren(...heldPicture(state, found));
    parts.time.replaceChildren(...timePicture(found));
    this.fold({ numbers: () => [["", "whole tables", "sharded tables"], rows(found), "Of each machine. Activations, other weights and gradients that wait in memory are not counted."], python: asPython(state) });
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

const inCounts = (count) => withUnit(count, [[1e9, "bn"], [1e6, "M"], [1e3, "k"], [1, ""]]).trim();
const inTime = (seconds) => (seconds < 60 ? inSeconds(seconds) : withUnit(seconds, [[86400 * 365, "years"], [86400, "days"], [3600, "hours"], [60, "minutes"]]).replace(/^(1 \w+)s$/, "$1"));

function aboutMemory({ processes, memory, optimizer }, { held }) {
  const [room, whole] = [memory * 1e9, `With ${OPTIMIZERS[optimizer]} the whole tables take ${inBytes(held.whole)}`];
  if (held.whole <= room) return `${whole} and fit into the ${inBytes(room)} of a machine.`;
  const tooMuch = `${whole}, more than the ${inBytes(room)} of a machine`;
  if (processes === 1) return `${tooMuch}.`;
  return `${tooMuch}; a shard on each of ${processes} machines takes ${inBytes(held.sharded)}${held.sharded <= room ? " and fits" : ", which is still too much"}.`;
}

function aboutBytes({ processes }, { sent }) {
  if (processes === 1) return "One machine sends nothing.";
  return `In a step a machine sends ${inBytes(sent.dense)} if it has whole tables and dense gradients, and ${inBytes(sent.exchanged)} for the rows of sharded tables. ` +
    `The gathered vectors of the batch add ${inBytes(sent.gathered)}; two Gramians in their place would add ${inBytes(sent.gramians)}.`;
}

function aboutTime({ processes }, { ways, seconds, steps, hours }) {
  const [part, most] = Object.entries(ways.sharded).reduce((a, b) => (b[1] > a[1] ? b : a));
  const epoch = `An epoch has ${thousands(steps)} ${steps === 1 ? "step" : "steps"} and takes ${inTime(3600 * hours.sharded)}`;
  if (processes === 1) return `By the cost model a step takes ${inTime(seconds.sharded)}, all of it computing. ${epoch}.`;
  return `By the cost model a step with sharded tables takes ${inTime(seconds.sharded)}: ${wholePercent(most / seconds.sharded)} of it is ${PARTS[part][0]}. ` +
    `${epoch}; with whole tables and dense gradients it takes ${inTime(3600 * hours.whole)}.`;
}

const rows = ({ held, sent, ways, seconds, steps, hours }) => {
  const both = (name, numbers, words) => [name, words(numbers.whole), words(numbers.sharded)];
  const same = (name, value) => [name, value, value];
  return [
    both("tables and optimiser", held, inBytes),
    both("sent for the tables", { whole: sent.dense, sharded: sent.exchanged }, inBytes),
    same("sent: vectors of the batch", inBytes(sent.gathered)),
    same("sent: two Gramians instead", inBytes(sent.gramians)),
    ...Object.entries(PARTS).map(([part, [name]]) => both(`time: ${name}`, { whole: ways.whole[part], sharded: ways.sharded[part] }, inTime)),
    both("time of a step", seconds, inTime),
    same("steps of an epoch", thousands(steps)),
    both("time of an epoch", hours, (value) => inTime(3600 * value)),
  ];
};

/** Lines of Python that compute all numbers, and show the same state. */
function asPython(state) {
  const value = (name) => (typeof state[name] === "string" ? `"${state[name]}"` : String(state[name]));
  const some = (...names) => `    ${names.map((name) => `${name}=${value(name)}`).join(", ")},`;
  return [
    "from course_lib.lessons.one_batch_many_machines.sharded_step import ShardedStep", "",
    "# prices: nanoseconds of a start, a softmax, an operation and a byte (course_lib.step_cost)",
    "shown = ShardedStep(", `    prices=[${state.prices.join(", ")}],`, some("users", "items", "pairs"), some("width", "batch", "processes"),
    some("bandwidth", "memory", "speed"), some("itemsize", "optimizer"), ")",
    "held, sent = shown.held(), shown.sent()  # course_lib.processes", "seconds, epoch = shown.seconds(), shown.epoch()  # course_lib.step_cost",
    "print(held, {name: float(count) for name, count in sent.items()}, seconds, epoch)", "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const TICKS = [[1e3, "1 kB"], [1e6, "1 MB"], [1e9, "1 GB"], [1e12, "1 TB"]];

/** Bytes on an axis on which every step is ten times as much: a line from the left, and a disc. */
function sentPicture({ sent }) {
  const [width, left, right, top, each] = [290, 12, 278, 14, 34];
  const [low, high] = [2, 14]; // powers of ten at both ends
  const x = (bytes) => left + ((Math.min(Math.max(Math.log10(bytes), low), high) - low) / (high - low)) * (right - left);
  const bottom = top + each * Object.keys(SENT).length;
  const words = `Bytes that a machine sends in a step: ${Object.entries(SENT).map(([name, text]) => `${text} ${sent[name] ? inBytes(sent[name]) : "nothing"}`).join("; ")}`;
  return drawing({ width, height: bottom + 20 }, { "aria-label": words },
    TICKS.map(([bytes, text]) => [svg("path", { class: "cw-frame", d: `M${x(bytes).toFixed(1)} ${top}V${bottom}` }), svg("text", { class: "cw-axis-text", x: x(bytes).toFixed(1), y: bottom + 15 }, text)]),
    Object.entries(SENT).map(([name, text], k) => sentLine(text, sent[name], top + k * each, { x, left, right })));
}

function sentLine(text, bytes, y, { x, left, right }) {
  const line = y + 15;
  const name = svg("text", { class: "cw-axis-text cw-start", x: left, y, style: "fill:var(--cw-ink)" }, text);
  const amount = svg("text", { class: "cw-pull-text", x: right, y, style: "text-anchor:end" }, bytes ? inBytes(bytes) : "nothing");
  if (!bytes) return [name, amount];
  const end = x(bytes).toFixed(1);
  return [name, amount, svg("path", { class: "cw-level", "stroke-width": 2, d: `M${left} ${line}H${end}` }), svg("circle", { class: "cw-item cw-plain", cx: end, cy: line, r: 5.5 })];
}

const bar = (name, amount, pieces, ...marks) => barUnder([name, " ", h("strong", {}, amount)], [pieces.filter(([, share]) => share > 0).map(([look, share]) => barPiece(look, share)), marks], true);

function heldPicture({ memory }, { held }) {
  const most = Math.max(held.whole, memory * 1e9) * 1.02;
  const line = () => h("span", { class: "cw-blind", style: `left:${((100 * memory * 1e9) / most).toFixed(2)}%` });
  return [["whole tables", held.whole], ["a shard", held.sharded]].map(([name, bytes]) =>
    bar(`${bytes <= memory * 1e9 ? "✓" : "✕"} ${name}`, inBytes(bytes), [[bytes <= memory * 1e9 ? "cw-piece-pull" : "cw-piece-wrong", bytes / most]], line()));
}

/** Each bar is a whole step: the two steps often differ by a factor of a thousand. */
const timePicture = ({ ways, seconds }) => Object.entries(WAYS).map(([way, name]) =>
  bar(name, inTime(seconds[way]), Object.entries(PARTS).map(([part, [, look]]) => [look, ways[way][part] / seconds[way]])));

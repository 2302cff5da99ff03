// The interactive "the axis of popularity": a cloud of item embeddings, the axis that head and tail choose, projection against
// count, and what chance gives.
import { drawing, h, number, remembered, svg } from "../shared/widgets/kit.js";
import { Interactive, beside, button, card, choice, diamond, framed, key, ladder, presets, showing, slider } from "../shared/widgets/controls.js";
import { arrowPath } from "../shared/widgets/motion_plane.js";
import { average } from "../shared/widgets/tables.js";
import { CHANCE, analyse, dealt } from "./popularity_axis_math.js";

const NAMES = ["items", "counts", "names", "stored", "model", "show", "ratio", "shown", "seed", "film"];
const RATIOS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4];
const FEWEST = 20;

export default showing(NAMES, class extends Interactive {
  build(parts, { items, counts }) {
    const sizes = [1, 2, 4, 8].map((part) => Math.floor(counts.length / part)).filter((size) => size >= FEWEST).reverse();
    const [usual, all] = [{ ratio: 0.05 }, { shown: counts.length }];
    this.choices = {
      ...Object.fromEntries(Object.keys(items).map((model) => [model, { text: model, set: { model, show: "embeddings", ...usual, ...all } }])),
      nothing: { text: "Nothing to find", set: { show: "random", ...usual, ...all } },
      few: { text: "Nothing, in few items", set: { show: "random", ...usual, shown: sizes[0] } },
    };
    const deal = remembered((all, shown) => dealt(all.slice(0, shown)));
    this.measured = remembered((tables, all, model, show, ratio, shown, seed) => analyse({ items: tables, counts: all, model, show, ratio, shown, seed }, deal(all, shown)));
    this.redrawn = remembered((found) => this.drawPictures(parts, found));
    parts.presets = presets(this.choices, (name) => this.set(this.choices[name].set));
    this.control(choice, "show", { label: "Show", options: [["embeddings", "the embeddings"], ["shuffled", "counts shuffled"], ["random", "random numbers"]] });
    parts.again = button("again", "Draw again", () => this.set({ seed: (this.state().seed + 1) % 1000 }));
    this.control(ladder, "ratio", { text: "Head and tail, each", values: RATIOS, words: (ratio, state) => `${number(100 * ratio)} % (${this.measure(state).head.length})` });
    this.control(ladder, "shown", { text: "Items", values: sizes });
    parts.film = slider({ name: "film", text: "Item", min: 1, max: counts.length, step: 1, onset: (film) => this.set({ film }) });
    parts.inspector = h("p", { class: "cw-inspector" });
    return framed({ look: "cw-flow cw-words-across", title: "The axis of popularity", lead: "The head and the tail choose an axis, and all items are measured along it. How much would “Nothing to find” show?" }, beside({
      start: parts.presets.box,
      main: [parts.show.box, parts.again, parts.ratio.box, sizes.length > 1 ? parts.shown.box : []],
      view: [this.buildChance(parts), this.buildClouds(parts)],
      words: parts.summary,
      more: [parts.film.box, parts.inspector],
    }), parts.folds.box);
  }

  buildClouds(parts) {
    parts.cloud = h("div", {});
    parts.plot = h("div", {});
    const title = (text, soft) => h("p", { class: "cw-card-title" }, text, " ", h("span", { class: "cw-soft" }, soft));
    return h("div", { class: "cw-card" },
      h("div", { class: "cw-stage cw-halves" }, h("div", {}, title("The cloud", "its two main axes"), parts.cloud), h("div", {}, title("Count", "against projection"), parts.plot)),
      h("ul", { class: "cw-legend" },
        key("item", svg("circle", { class: "cw-item", cx: 10, cy: 10, r: 4 })),
        key("head", svg("path", { class: "cw-item-head", d: diamond(10, 10, 6.5) })),
        key("tail", svg("circle", { class: "cw-tail", cx: 10, cy: 10, r: 5.5 })),
        key("tail’s mean to head’s", svg("path", { class: "cw-law", d: "M1 10H18M12 5L18 10L12 15" }))));
  }

  buildChance(parts) {
    parts.chance = h("div", {});
    return card("What chance would show", `r in ${CHANCE.shuffles} shuffles of the counts`, parts.chance,
      h("ul", { class: "cw-legend" },
        key("chance, axis of the same items", svg("path", { class: "cw-heap", d: "M2 18V8H18V18" })),
        key("chance, axis of other items", svg("path", { class: "cw-stairs", d: "M2 18V8H18V18" })),
        key("here, of the same", svg("path", { class: "cw-item-head", d: diamond(10, 10, 6.5) })),
        key("here, of others", svg("circle", { class: "cw-item", cx: 10, cy: 10, r: 5.5 })),
        key("law of chance", svg("path", { class: "cw-wish", d: "M10 1V19" }))));
  }

  /** What is measured: anew only if something else than the chosen item has changed; the shuffles only with the counts. */
  measure({ items, counts, model, show, ratio, shown, seed }) {
    return this.found = this.measured(items, counts, model, show, ratio, shown, seed);
  }

  refresh(parts, state) {
    this.story = summary(state, this.measure(state));
    this.redrawn(this.found);
    parts.again.disabled = state.show === "embeddings";
    parts.film.input.max = state.shown;
    const place = Math.min(state.film, state.shown);
    parts.film.show(place, `number ${place} of the ${state.shown} shown`);
    parts.inspector.textContent = aboutFilm(state, this.found);
    for (const picture of [this.cloud, this.plot]) picture.mark(this.found.order[place - 1]);
    this.fold({ numbers: () => [HEADS, rowsOf(state, this.found), "The items in ten groups of falling popularity."], python: asPython(state) });
  }

  drawPictures(parts, found) {
    const look = (id) => this.set({ film: found.order.indexOf(id) + 1 });
    this.cloud = cloudOf(found, look);
    this.plot = plotOf(found, look);
    parts.cloud.replaceChildren(this.cloud.root);
    parts.plot.replaceChildren(this.plot.root);
    parts.chance.replaceChildren(chanceOf(found));
    for (const [{ root }, name] of [[this.cloud, "The cloud of embeddings"], [this.plot, "Count against projection"]]) root.setAttribute("aria-label", `${name}. ${this.story}`);
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

function summary({ model, show, shown }, { head, naive, crossed, agreement, shuffledNaive, shuffledCrossed, chance }) {
  const what = { embeddings: model, shuffled: `${model}, with counts dealt out anew`, random: `Random numbers in place of ${model}` }[show];
  const reach = (many) => `${many || "none"} ${many > 1 ? "reach" : "reaches"}`;
  const [first, second] = [[shuffledNaive, naive], [shuffledCrossed, crossed]].map(([by, r]) => reach(by.filter((other) => other >= r).length));
  return `${what}: ${shown} items, head and tail of ${head.length} each. Projection against count: r = ${number(naive)} along the axis computed from these items, ` +
    `r = ${number(crossed)} along axes computed from other items. Of ${CHANCE.shuffles} shuffles of the counts, ${first} ${number(naive)} on these items (${number(average(shuffledNaive))} on average; ` +
    `the law for random vectors says ${number(chance)}), ${second} ${number(crossed)} on other items (${number(average(shuffledCrossed))} on average). ` +
    `Two halves of the items find axes with a cosine of ${number(agreement)}.`;
}

const HEADS = ["Items, by popularity", "Count", "Mean projection", "Least", "Most"];

/** The items in ten groups of falling popularity. */
function rowsOf({ shown }, { order, counts, projections }) {
  return Array.from({ length: 10 }, (_, k) => {
    const [low, high] = [Math.floor((k * shown) / 10), Math.floor(((k + 1) * shown) / 10)];
    const group = order.slice(low, high);
    const [mine, along] = [group.map((id) => counts[id]), group.map((id) => projections[id])];
    const [least, greatest] = [Math.min(...mine), Math.max(...mine)];
    return [`${low + 1} to ${high}`, least === greatest ? String(least) : `${least} to ${greatest}`, ...[average(along), Math.min(...along), Math.max(...along)].map(number)];
  });
}

/** How a film is introduced: its name, its count, where it lies. */
function aboutFilm({ film, names }, { order, counts, projections, head, tail }) {
  const id = order[Math.min(film, order.length) - 1];
  const place = head.includes(id) ? "In the head. " : tail.includes(id) ? "In the tail. " : "";
  return `${names[id]}: ${place}Count ${counts[id]}, projection ${number(projections[id])}.`;
}

/** Lines of Python that compute the two correlations and the law of chance, and show the same state. */
function asPython({ stored, model, show, ratio, shown, seed, film }) {
  return [
    "import numpy as np", "", "from course_lib import popularity", "from course_lib.lessons.popularity_direction.popularity_axis import PopularityAxis", "",
    ...(stored ? [] : ["items, counts = your_model  # embeddings (n, d), and how often each item occurs"]),
    `shown = PopularityAxis(${stored ? "" : "items, counts, "}model=${JSON.stringify(model)}, show="${show}", ratio=${ratio}, shown=${shown}, seed=${seed}, film=${film})`,
    "items, counts, ratio = shown.embeddings, shown.popularity, shown.ratio",
    "projections = items @ popularity.popularity_direction(items, counts, ratio)",
    "r = popularity.pearson(projections, counts)  # along the axis computed from these items",
    "crossed = np.mean([popularity.correlation_across_parts(items, counts, half, ratio) for half in shown.halves])",
    "chance = popularity.double_dipping_law(counts, items.shape[1], ratio).mean", "print(r, crossed, chance)", "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const ring = (x, y, r) => `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;

/** Marks of all items at their places, a ring around the one that is looked at, and `look(id)` for the one nearest to a click. */
function withMarks(root, places, { head, tail }, look) {
  const special = new Set([...head, ...tail]);
  const others = places.map((_, id) => id).filter((id) => !special.has(id));
  const path = (kind, ids, draw) => svg("path", { class: kind, d: ids.map((id) => draw(...places[id])).join("") });
  const chosen = svg("circle", { class: "cw-ring", r: 10 });
  root.append(
    path("cw-item", others, (x, y) => ring(x, y, 3)), path("cw-tail", tail, (x, y) => ring(x, y, 4)), path("cw-item-head", head, (x, y) => diamond(x, y, 5.5)), chosen);
  root.addEventListener("click", (event) => {
    const box = root.getBoundingClientRect();
    const unit = root.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
    const distance = (id) => Math.hypot(places[id][0] - x, places[id][1] - y);
    look(places.map((_, id) => id).reduce((best, id) => (distance(id) < distance(best) ? id : best), 0));
  });
  return {
    root,
    mark: (id) => {
      chosen.setAttribute("cx", places[id][0].toFixed(1));
      chosen.setAttribute("cy", places[id][1].toFixed(1));
    },
  };
}

const CLOUD = { width: 300, height: 250 };

/** The first two of the principal axes; the arrow from the tail's mean to the head's. */
function cloudOf(found, look) {
  const points = found.rows.map((row) => [row[0], row[1]]);
  const ranges = [0, 1].map((axis) => [Math.min(...points.map((point) => point[axis])), Math.max(...points.map((point) => point[axis]))]);
  const sides = [CLOUD.width, CLOUD.height];
  const unit = Math.min(...ranges.map(([low, high], axis) => (sides[axis] - 24) / (high - low || 1)));
  const place = (point) => [0, 1].map((axis) => sides[axis] / 2 + (axis ? -1 : 1) * (point[axis] - average(ranges[axis])) * unit);
  const root = drawing(CLOUD, { class: "cw-look" });
  const marked = withMarks(root, points.map(place), found, look);
  const arrow = arrowPath(place(found.bottom), place(found.top));
  root.append(svg("path", { class: "cw-axis-arrow-halo", d: arrow }), svg("path", { class: "cw-axis-arrow", d: arrow }));
  return marked;
}

const FRAME = { width: 300, height: 250, left: 40, right: 13, top: 13, bottom: 38 };

function plotOf(found, look) {
  const { width, height, left, right, top, bottom } = FRAME;
  const [low, high] = [Math.min(...found.projections), Math.max(...found.projections)];
  const most = Math.max(...found.counts);
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - right);
  const y = (count) => top + (1 - count / most) * (height - top - bottom);
  const root = drawing({ width, height }, { class: "cw-look" },
    svg("path", { class: "cw-frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
    low < 0 && high > 0 ? [svg("path", { class: "cw-bend", d: `M${x(0).toFixed(1)} ${top}V${height - bottom}` }), svg("text", { class: "cw-axis-text", x: x(0), y: height - bottom + 16 }, "0")] : null,
    [[low, "cw-axis-text cw-start"], [high, "cw-axis-text cw-end"]].filter(([value]) => Math.abs(x(value) - x(0)) > 40 || low >= 0 || high <= 0)
      .map(([value, kind]) => svg("text", { class: kind, x: x(value), y: height - bottom + 16 }, number(value))),
    [0, most].map((count) => svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: y(count) + 4 }, String(count))),
    svg("text", { class: "cw-axis-text", x: (left + width) / 2, y: height - 6 }, "projection"),
    svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: (top + height - bottom) / 2 }, "count"));
  return withMarks(root, found.projections.map((along, id) => [x(along), y(found.counts[id])]), found, look);
}

const LINE = { width: 360, height: 104, side: 16, base: 62, tall: 54, bins: 60 };

/** A line from -1 to 1: what shuffled counts give, heaped up, and what is found. */
function chanceOf(found) {
  const { width, height, side, base, tall, bins } = LINE;
  const x = (r) => side + ((r + 1) / 2) * (width - 2 * side);
  const binned = (values) => {
    const heights = Array(bins).fill(0);
    for (const r of values) heights[Math.min(bins - 1, Math.max(0, Math.floor(((r + 1) / 2) * bins)))] += 1;
    return heights;
  };
  const [first, second] = [binned(found.shuffledNaive), binned(found.shuffledCrossed)];
  const highest = Math.max(...first, ...second);
  const stairs = (heights) => {
    const [first, last] = [heights.findIndex(Boolean), heights.findLastIndex(Boolean)];
    const at = (bin) => x(-1 + (2 * bin) / bins).toFixed(1);
    return `M${at(first)} ${base}${heights.slice(first, last + 1).map((count, k) => `V${(base - (count / highest) * tall).toFixed(1)}H${at(first + k + 1)}`).join("")}V${base}`;
  };
  const name = `Line from −1 to 1: shuffled counts give ${number(average(found.shuffledNaive))} and ${number(average(found.shuffledCrossed))} on average; found are ${number(found.naive)} and ${number(found.crossed)}`;
  return drawing({ width, height, most: 420 }, { "aria-label": name },
    svg("path", { class: "cw-heap", d: stairs(first) }), svg("path", { class: "cw-stairs", d: stairs(second) }),
    svg("path", { class: "cw-frame", d: `M${side} ${base}H${width - side}` }),
    svg("path", { class: "cw-wish", d: `M${x(found.chance).toFixed(1)} 8V${base}` }),
    [-1, -0.5, 0, 0.5, 1].map((r) => svg("text", { class: "cw-axis-text cw-large", x: x(r), y: base + 38 }, number(r))),
    svg("path", { class: "cw-item-head cw-plain", d: diamond(x(found.naive), base + 12, 8) }), svg("circle", { class: "cw-item cw-plain", cx: x(found.crossed).toFixed(1), cy: base + 12, r: 6 }));
}

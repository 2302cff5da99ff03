// The interactive "which cells are looked into": films with two numbers, a person, the visited cells, and the ten best films.
import { drawing, h, list, svg, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barPiece, card, choice, hero, key, namedBar, showing, slider } from "../shared/widgets/controls.js";

const NAMES = ["map", "power", "probes", "space", "everything"];
const SPACES = [["ip", "inner product"], ["more", "one more coordinate"]];
const POWERS = ["0", "1/8", "1/4", "3/8", "1/2"];
const QUARTERS = ["most popular quarter", "second quarter", "third quarter", "rarest quarter"];
const SIDE = 400; // px of the map, which reaches a little beyond the longest film
const REACH = 1.08;
const GRID = 50; // squares a side, for the shading
const TEN = 10;

export default showing(NAMES, class extends Interactive {
  build(parts) {
    this.control(slider, "power", { text: "Length of a film: its ratings to the power", min: 0, max: 4, step: 1, words: (power) => POWERS[power] });
    this.control(slider, "probes", { text: "Cells looked into:", min: 1, max: 6, step: 1, words: (probes) => `${probes} of 16` });
    this.control(choice, "space", { label: "Search by", options: SPACES });
    parts.map = h("div", {});
    parts.bars = h("div", { class: "cw-bars" });
    return hero(this, {
      head: { look: "cw-one-screen", title: "Which of the ten best films does the index lose?", lead: "Make the popular films longer, and watch which films are lost." },
      controls: [parts.power.box, parts.space.box],
      picture: h("div", { class: "cw-stage cw-stage-chart" },
        card(`One person and ${this.state().map.films.length} films`, "", parts.map,
          h("ul", { class: "cw-legend" },
            key("looked into", svg("rect", { class: "cw-cells-visited", x: 1, y: 3, width: 18, height: 14 })),
            key("found", svg("circle", { class: "cw-cells-found", cx: 10, cy: 10, r: 6 })),
            key("lost", cross(10, 10)))),
        card("All people: how much of their ten best films is found", "", parts.bars)),
      more: { main: parts.probes.box },
    });
  }

  refresh(parts, state) {
    const now = searched(state);
    this.story = story(state, now);
    parts.map.replaceChildren(picture(state, now));
    const [all, ...quarters] = now.found;
    parts.bars.replaceChildren(bar("of all places in the ten best", all, "cw-piece-pull"),
      ...quarters.map((share, k) => bar(share === null ? `of the ${QUARTERS[k]}: no place in anybody’s ten` : `of the places of the ${QUARTERS[k]}`, share, k === 0 ? "cw-piece-wrong" : "cw-piece-push")));
    this.fold({ numbers: () => [HEADS, rows(state), "What the search finds, by cells looked into."], python: asPython(state) });
  }
});

// ---- the search ----------------------------------------------------------------------------------------------------------

/** How well a vector fits a centroid: in the space with one more coordinate the nearest is the best. */
const fit = (vector, centroid) => centroid.reduce((total, value, k) => total + value * (vector[k] ?? 0) - (centroid.length === 3 ? (value * value) / 2 : 0), 0);

const best = (values, k) => values.map((_, place) => place).sort((a, b) => values[b] - values[a] || a - b).slice(0, k);

function searched({ map, power, probes, space }) {
  const most = Math.max(...map.counts);
  const lengths = map.counts.map((count) => (count / most) ** map.powers[power]);
  const films = map.films.map(([x, y], k) => [x * lengths[k], y * lengths[k]]);
  const { centroids, of, found } = map.searches[space][power];
  const visited = new Set(best(centroids.map((centroid) => fit(map.person, centroid)), probes));
  const ten = best(films.map((film) => film[0] * map.person[0] + film[1] * map.person[1]), TEN);
  const last = films[ten[TEN - 1]];
  return {
    films, centroids, visited, ten, found: found[probes - 1],
    lost: ten.filter((film) => !visited.has(of[film])),
    bar: last[0] * map.person[0] + last[1] * map.person[1],
  };
}

// ---- words ---------------------------------------------------------------------------------------------------------------

function story({ map, power, probes, space }, { ten, lost, found }) {
  const cells = probes === 1 ? "one cell" : `${probes} of 16 cells`;
  const how = space === "ip" ? "by inner product" : "with one more coordinate";
  const missing = lost.length ? `${lost.length} of this person’s ten best films: ${list(lost.map((film) => map.titles[film]))}` : "none of this person’s ten best films";
  const head = found[1] === null ? "No film of the most popular quarter is among anybody’s ten" : `Of the places of the most popular quarter ${wholePercent(found[1])} are found`;
  return `A film’s length is its number of ratings to the power ${POWERS[power]}. The search looks into ${cells} ${how} and misses ${missing}. ` +
    `For all people ${wholePercent(found[0])} of the ten best are found. ${head}.`;
}

const HEADS = ["Cells looked into", "all", ...QUARTERS];
const shareText = (share) => (share === null ? "–" : share.toFixed(3));
const rows = ({ map, power, space }) => map.searches[space][power].found.map((shares, k) => [String(k + 1), ...shares.map(shareText)]);

const asPython = ({ power, probes, space }) => [
  "from course_lib import metrics", "from course_lib.lessons.serving import ivf", "from course_lib.lessons.serving.map_of_cells import MapOfCells", "",
  "people, films = ivf.flat()", `films = ivf.with_lengths(films, ${["0", "1 / 8", "1 / 4", "3 / 8", "1 / 2"][power]})`,
  `space = "${space === "ip" ? "inner product" : "one more coordinate"}"`, "queries, items = ivf.arranged(people, films, space)",
  "cells = ivf.k_means(items, 16, space, seed=0)", `lists = ivf.search(queries, items, cells, probes=${probes})`,
  "found = metrics.index_recall(lists, ivf.exact(people, films))", 'print(f"{found:.0%} of the ten best")',
  `MapOfCells(power=${power}, probes=${probes}, space="${space}")`].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

const px = (value) => (SIDE / 2) * (1 + value / REACH);
const py = (value) => (SIDE / 2) * (1 - value / REACH);
const at = ([x, y]) => `${px(x).toFixed(1)} ${py(y).toFixed(1)}`;
const cross = (x, y) => svg("path", { class: "cw-cells-lost", d: `M${(x - 5).toFixed(1)} ${(y - 5).toFixed(1)}l10 10m0 -10l-10 10` });

/** The squares of the disc whose vectors lie in a visited cell, row by row. */
function shading({ centroids, visited }) {
  const step = (2 * REACH) / GRID;
  const middle = (place) => -REACH + (place + 0.5) * step;
  const inside = (x, y) => {
    const rest = 1 - x * x - y * y; // with one more coordinate all films have length 1
    if (rest < 0) return false;
    const fits = centroids.map((centroid) => fit([x, y, Math.sqrt(rest)], centroid));
    return visited.has(fits.indexOf(Math.max(...fits)));
  };
  const found = [];
  for (let row = 0; row < GRID; row++) {
    for (let start = 0, place = 0; place <= GRID; place++) {
      if (place < GRID && inside(middle(place), middle(row))) continue;
      if (place > start) found.push(`M${(start * SIDE) / GRID} ${SIDE - ((row + 1) * SIDE) / GRID}h${((place - start) * SIDE) / GRID}v${SIDE / GRID}h${(-(place - start) * SIDE) / GRID}z`);
      start = place + 1;
    }
  }
  return found.join("");
}

function picture({ map }, now) {
  const [x, y] = map.person;
  const ten = new Set(now.ten);
  const dots = [3, 2, 1, 0].map((quarter) => svg("path", { class: `cw-cells-dot cw-cells-dot-${quarter}`, d: now.films.flatMap((film, k) => (map.quarter[k] === quarter && !ten.has(k) ? [`M${at(film)}h0`] : [])).join("") }));
  const along = [x * now.bar, y * now.bar];
  const toFrame = (way) => Math.min(...way.map((part, k) => (part ? (REACH * Math.sign(part) - along[k]) / part : Infinity)));
  const line = [[-y, x], [y, -x]].map((way) => along.map((start, k) => start + toFrame(way) * way[k])); // to the frame
  const lost = new Set(now.lost);
  return drawing({ width: SIDE, height: SIDE }, { "aria-label": `A map of ${map.films.length} films, the cells that a person looks into, and the ten best films` },
    svg("path", { class: "cw-cells-visited", d: shading(now) }),
    dots,
    svg("path", { class: "cw-cells-bar", d: `M${at(line[0])}L${at(line[1])}` }),
    svg("path", { class: "cw-cells-person", d: `M${at([0, 0])}L${at([x, y])}` }),
    svg("circle", { class: "cw-cells-tip", cx: px(x).toFixed(1), cy: py(y).toFixed(1), r: 5 }),
    now.ten.map((film) => (lost.has(film) ? cross(px(now.films[film][0]), py(now.films[film][1])) : svg("circle", { class: "cw-cells-found", cx: px(now.films[film][0]).toFixed(1), cy: py(now.films[film][1]).toFixed(1), r: 6 }))),
    svg("rect", { class: "cw-frame", x: 1, y: 1, width: SIDE - 2, height: SIDE - 2, rx: 10 }));
}

const bar = (text, share, look) => namedBar(share === null ? null : wholePercent(share), text, barPiece(look, share ?? 0));

// The interactive "who is best?": rows ranked by what they find among m sampled films; the order turns over as m grows.
import { drawing, h, list, svg } from "../shared/widgets/kit.js";
import { Interactive, barUnder, card, choice, diamond, hero, key, showing } from "../shared/widgets/controls.js";

const NAMES = ["board", "place", "hidden", "training", "everything"];
const HIDDEN = [["later", "the latest pairs"], ["random", "pairs drawn at random"]];
const CHART = { width: 440, height: 270, left: 68, right: 12, top: 12, bottom: 48 };
const RANKS = ["first", "second", "third", "fourth", "fifth"];
const TICKS = [10, 20, 50, 100, 200, 400];
// colour, dashes and mark of each row, in the order of the board: a row is told apart three times over
const LOOKS = [
  ["var(--cw-push)", "none", square], ["var(--cw-push)", "7 4", up], ["var(--cw-pull)", "none", rhomb],
  ["var(--cw-pull)", "7 4", round], ["var(--cw-soft)", "2 3", cross]];

export default showing(NAMES, class extends Interactive {
  build(parts, { board }) {
    this.control(choice, "hidden", { label: "Hidden", options: HIDDEN });
    this.control(choice, "training", { label: "Training", options: board.hits.later.map((_, k) => [k + 1, k + 1]) });
    const play = this.filmOf("place", { text: "Each hidden film is compared with", last: board.samples.length - 1, milliseconds: 900, words: (_, state) => compared(state) });
    parts.chart = h("div", {});
    parts.order = h("div", { class: "cw-bars", "data-paper": true });
    return hero(this, {
      head: { look: "cw-one-screen", title: "Who is best?", lead: "Move the slider. Each hidden film is ranked among films drawn at random; it is found if it is one of the first ten." },
      controls: [h("div", { class: "cw-row" }, play), parts.hidden.box],
      picture: h("div", { class: "cw-stage cw-stage-chart" },
        card("Hidden films found", "", parts.chart,
          h("ul", { class: "cw-legend" }, board.rows.map((row, k) => key(row, line(k, "M1 10H19"), LOOKS[k][2](10, 10, k))))),
        card("The order at this number", "", parts.order)),
      more: { main: parts.training.box },
    });
  }

  refresh(parts, state) {
    const now = ranked(state);
    this.story = story(state, now);
    parts.chart.replaceChildren(chart(state));
    const all = ranked({ ...state, place: state.board.samples.length - 1 });
    parts.order.replaceChildren(...now.map((one, place) => bar(one, place, last(state) ? "" : `, ${RANKS[all.findIndex(({ row }) => row === one.row)]} among all films`)));
    this.fold({ numbers: () => [["Compared with", ...state.board.rows], rows(state), "The share of the hidden films that are found."], python: asPython(state) });
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

const last = ({ board, place }) => place === board.samples.length - 1;
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const compared = (state, at = state.place) => (last({ ...state, place: at }) ? "all other films" : `${state.board.samples[at]} sampled films`);
const hits = ({ board, hidden, training }) => board.hits[hidden][training - 1];

/** The rows with what they find at this number, best first; equal ones in the order of the board. */
function ranked(state) {
  return state.board.rows.map((row, k) => ({ row, k, hit: hits(state)[k][state.place] })).sort((a, b) => b.hit - a.hit || a.k - b.k);
}

function story(state, now) {
  const which = state.hidden === "later" ? "the latest pairs hidden" : "pairs hidden at random";
  const [best, worst] = [now[0], now.filter(({ row }) => row !== "chance").at(-1)];
  const order = now[0].hit === now.at(-1).hit ? "every row finds every film, since a list of ten holds all that are compared" :
    `the order is ${list(now.map(({ row, hit }) => `${row} (${percent(hit)})`), 5)}`;
  const all = ranked({ ...state, place: state.board.samples.length - 1 });
  const other = best.row === all[0].row ? `The first row is also first among all films` : `Among all films the first is ${all[0].row}`;
  return `With ${which} and each compared with ${compared(state)}, ${order}. ` +
    (last(state) ? `Last but for chance is ${worst.row}.` : `${other}.`);
}

const rows = (state) => state.board.samples.map((_, at) => [compared(state, at), ...state.board.rows.map((_, k) => hits(state)[k][at].toFixed(3))]);

const asPython = (state) => [
  "from course_lib.lessons.judging import boards", "from course_lib.lessons.judging.sampled_ranks import SampledRanks", "",
  `found = boards.hit_rates("${state.hidden}", seed=${state.training - 1}, samples=[${state.board.samples[state.place]}])`,
  `for row, [share] in found.items():`, `    print(f"{share:.3f} {row}")`,
  `SampledRanks(place=${state.place}, hidden="${state.hidden}", training=${state.training})`].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

const line = (k, d) => svg("path", { d, style: `fill:none;stroke:${LOOKS[k][0]};stroke-width:2.2;stroke-dasharray:${LOOKS[k][1]}` });
const filled = (k) => `fill:${LOOKS[k][0]};stroke:none`;
const hollow = (k) => `fill:var(--cw-card);stroke:${LOOKS[k][0]};stroke-width:1.8`; // the mark of a dashed line
function square(x, y, k) { return svg("rect", { x: x - 4, y: y - 4, width: 8, height: 8, style: filled(k) }); }
function round(x, y, k) { return svg("circle", { cx: x, cy: y, r: 4.6, style: hollow(k) }); }
function rhomb(x, y, k) { return svg("path", { d: diamond(x, y, 7.5), style: filled(k) }); }
function up(x, y, k) { return svg("path", { d: `M${x} ${y - 5.5}l5.5 9.5h-11z`, style: hollow(k) }); }
function cross(x, y, k) { return svg("path", { d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`, style: `fill:none;stroke:${LOOKS[k][0]};stroke-width:2` }); }

function chart(state) {
  const { width, height, left, right, top, bottom } = CHART;
  const { samples } = state.board;
  const x = (m) => left + ((width - left - right) * Math.log(m / samples[0])) / Math.log(samples.at(-1) / samples[0]);
  const y = (share) => top + (height - top - bottom) * (1 - share);
  const at = x(samples[state.place]);
  return drawing({ width, height }, { "aria-label": `Shares of hidden films that are found, at ${compared(state)}` },
    [0, 0.25, 0.5, 0.75, 1].map((share) => [svg("path", { d: `M${left} ${y(share)}H${width - right}`, style: "stroke:var(--cw-line);stroke-width:1" }),
      svg("text", { class: "cw-axis-text cw-large cw-end", x: left - 6, y: y(share) + 4 }, `${100 * share} %`)]),
    [...TICKS, samples.at(-1)].map((m) => svg("text", { class: "cw-axis-text cw-large", x: Math.min(x(m), width - 22).toFixed(1), y: height - bottom + 23 }, m === samples.at(-1) ? "all" : m)),
    svg("text", { class: "cw-axis-text cw-large", x: (left + width - right) / 2, y: height - 5 }, "sampled films"),
    svg("path", { d: `M${at.toFixed(1)} ${top}V${height - bottom}`, style: "stroke:var(--cw-ink);stroke-width:1.2;stroke-dasharray:4 3" }),
    hits(state).map((row, k) => line(k, row.map((share, place) => `${place ? "L" : "M"}${x(samples[place]).toFixed(1)} ${y(share).toFixed(1)}`).join(""))),
    hits(state).map((row, k) => LOOKS[k][2](at, y(row[state.place]), k)));
}

const bar = ({ row, k, hit }, place, elsewhere) => barUnder([h("strong", {}, `${place + 1}. `), row, h("span", { class: "cw-soft" }, ` ${percent(hit)}${elsewhere}`)],
  h("span", { class: "cw-piece", style: `width:${(100 * hit).toFixed(1)}%;background:${LOOKS[k][0]}` }));

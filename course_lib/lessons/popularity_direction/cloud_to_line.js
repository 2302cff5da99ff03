// The hero of the chapter: the vectors of films in training, a cloud that becomes a line, and a line that opens again.
import { drawing, h, number, svg, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barPiece, choice, hero, namedBar, showing } from "../shared/widgets/controls.js";

const NAMES = ["films", "moment", "law", "everything"];
const PASSES = [0, 2, 4, 6, 10, 20, 40, 60, 80, 120, 200];
const LAWS = [["uniform", "uniformly"], ["popularity", "by popularity"]];
const UNIT = 50; // of the places
const FRAME = { width: 760, height: 330, across: [-3.4, 9.6], up: 3.4 };

export default showing(NAMES, class extends Interactive {
  build(parts, { films }) {
    this.control(choice, "law", { label: "The film pushed away is drawn", options: LAWS });
    const play = this.filmOf("moment", { text: "Passes over the data", last: PASSES.length - 1, milliseconds: 900, words: (moment) => PASSES[moment] });
    const most = Math.sqrt(films.counts[0]);
    parts.dots = films.counts.map((count) => svg("circle", { class: "cw-star", r: (3 + (9 * Math.sqrt(count)) / most).toFixed(1), "fill-opacity": (0.25 + (0.6 * Math.sqrt(count)) / most).toFixed(2) }));
    parts.name = svg("text", { class: "cw-hero-text cw-star-name" }, films.names[0]);
    parts.ghosts = svg("path", { class: "cw-specks" });
    parts.count = svg("text", { class: "cw-hero-text cw-end cw-hero-count", x: FRAME.width - 12, y: 48 });
    parts.bars = h("div", { class: "cw-bars" });
    const { width, height } = FRAME;
    return hero(this, {
      head: { look: "cw-sky", title: "A cloud becomes a line", lead: "Press Play. A step pulls a film that somebody liked, and pushes another film away. Large circles: popular films. Grey: before the training." },
      controls: [h("div", { class: "cw-row" }, play), parts.law.box],
      picture: drawing({ width, height }, { "aria-label": "Films as circles in a plane; the text says how they lie" },
        svg("path", { class: "cw-frame", d: `M10 ${height / 2}H${width - 10}` }),
        svg("text", { class: "cw-hero-text cw-end cw-soft", x: width - 12, y: height - 12 }, "direction from rare to popular films →"),
        parts.ghosts, [...parts.dots].reverse(), parts.name, parts.count,
        svg("text", { class: "cw-hero-text cw-end", x: width - 12, y: 86 }, "of the people have the same film on top")),
      more: { view: h("div", { class: "cw-card" }, parts.bars) },
    });
  }

  refresh(parts, state) {
    const { films, moment, law } = state;
    const { places, r, share } = films.laws[law];
    this.story = story(state);
    places[moment].forEach((place, k) => {
      const [x, y] = at(place);
      parts.dots[k].style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
      if (!k) parts.name.style.transform = `translate(${Math.min(x, FRAME.width - 85).toFixed(1)}px, ${(y - 20).toFixed(1)}px)`;
    });
    parts.ghosts.setAttribute("d", places[0].map((place) => `M${at(place).map((part) => part.toFixed(1)).join(" ")}h0`).join(""));
    parts.count.textContent = wholePercent(share[moment]);
    parts.bars.replaceChildren(
      namedBar(number(r[moment]), "correlation of a film’s place with its popularity", barPiece("cw-piece-pull", Math.max(r[moment], 0))),
      namedBar(wholePercent(share[moment]), "of the people have one and the same film at the top", barPiece("cw-piece-push", share[moment])));
    this.fold({ numbers: () => [HEADS, rows(state), "The whole training."], python: asPython(state) });
  }
});

// ---- what is shown -------------------------------------------------------------------------------------------------------

/** A place in the picture; what would lie outside stands at its edge. */
function at([along, beside]) {
  const { width, height, across: [low, high], up } = FRAME;
  const inside = (value, least, most) => Math.min(Math.max(value, least), most);
  return [14 + ((inside(along / UNIT, low, high) - low) / (high - low)) * (width - 28), height / 2 - (inside(beside / UNIT, -up, up) / up) * (height / 2 - 16)];
}

function story({ films, moment, law }) {
  const { r, share } = films.laws[law];
  const passes = PASSES[moment] === 1 ? "1 pass" : `${PASSES[moment]} passes`;
  return `After ${passes}, with the film pushed away drawn ${LAWS.find(([name]) => name === law)[1]}, ` +
    `the place from left to right has a correlation of ${number(r[moment])} with popularity, and ${wholePercent(share[moment])} of the people have the same film at the top of their list.`;
}

const HEADS = ["Passes", "Correlation, drawn uniformly", "One film at the top", "Correlation, by popularity", "One film at the top"];

const rows = ({ films }) => PASSES.map((passes, k) => [String(passes), ...LAWS.flatMap(([law]) => [number(films.laws[law].r[k]), wholePercent(films.laws[law].share[k])])]);

const asPython = ({ moment, law }) => [
  "import numpy as np", "from course_lib import popularity", "from course_lib.lessons.popularity_direction import films",
  "from course_lib.lessons.popularity_direction.cloud_to_line import CloudToLine", "from course_lib.training.bpr import bpr_epoch", "",
  "train = films.train()", "(users, items), rng = films.normal_tables(0, scale=1e-3), np.random.default_rng(0)",
  `for _ in range(${PASSES[moment]}):`, `    bpr_epoch(users, items, train, lr=0.02, rng=rng, negatives="${law}")`,
  "r = popularity.pearson(films.along(items), train.col_counts)",
  'print(f"{r:.2f}, {films.same_first_film(users, items):.0%}")',
  `CloudToLine(moment=${moment}, law="${law}")`].join("\n");

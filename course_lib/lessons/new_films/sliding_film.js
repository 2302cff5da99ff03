// The interactive "a film without ratings": stored moments of two trainings, the map of the films and the neighbours of a new one.
import { h, svg, thousands, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barPiece, card, choice, hero, key, namedBar, showing } from "../shared/widgets/controls.js";
import { filmMark, framedMap } from "../shared/widgets/film_map.js";

const NAMES = ["film", "reads", "moment", "chosen", "everything"];
const READS = [["features", "genres and year"], ["nothing", "nothing"]];
const KINDS = { Animation: "animated films", Horror: "horror films", other: "other films" }; // in the order of their marks
const MAP = { width: 420, height: 360, reach: 95 }; // reach: hundredths from the centre to the edge

export default showing(NAMES, class extends Interactive {
  build(parts, { film }) {
    this.control(choice, "reads", { label: "The film tower reads", options: READS });
    this.control(choice, "chosen", { label: "New film", options: film.new.map((id, k) => [k + 1, film.titles[id].split(": ").at(-1)]) });
    const play = this.filmOf("moment", { text: "Batches of 512 pairs", last: film.steps.length - 1, milliseconds: 700, words: (_, state) => shown(state).steps });
    parts.map = h("div", {});
    parts.near = h("ol", { class: "cw-ten", "data-paper": true });
    parts.told = h("p", { class: "cw-note" });
    parts.found = h("div", { class: "cw-bars" });
    return hero(this, {
      head: { look: "cw-one-screen", title: "A film that nobody has rated", lead: "Press Play. The film with the ring is in no batch of the training." },
      controls: [h("div", { class: "cw-row" }, play), parts.reads.box],
      picture: h("div", { class: "cw-stage cw-stage-chart" },
        card("The new film among 42 rated ones", "", parts.map,
          h("ul", { class: "cw-legend" }, Object.values(KINDS).map((name, k) => key(name, filmMark(k, 10, 10))), key("the new film", ring(10, 10)))),
        h("div", { class: "cw-card" }, parts.told, parts.near, parts.found)),
      more: { main: parts.chosen.box },
    });
  }

  refresh(parts, state) {
    const now = shown(state);
    this.story = story(state);
    parts.map.replaceChildren(map(state, now));
    parts.told.textContent = `${now.title} (${state.film.told[now.id]}). Closest rated films:`;
    parts.near.replaceChildren(...now.near.map((k) => h("li", {}, h("span", {}, state.film.titles[k]), ` (${state.film.told[k]})`)));
    parts.found.replaceChildren(
      namedBar(wholePercent(now.recall), "of pairs on new films found in lists of ten", barPiece("cw-piece-pull", now.recall)),
      namedBar(wholePercent(state.film.chance), "if the ten were drawn at random", barPiece("cw-piece-other", state.film.chance)));
    this.fold({ numbers: () => [HEADS, rows(state), "Both towers while they learn."], python: asPython(state) });
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

function shown({ film, reads, moment, chosen }) {
  const one = film.models[reads];
  const count = film.steps[moment];
  const id = film.new[chosen - 1];
  const own = one.map[0].length - film.new.length + chosen - 1;
  return {
    id, title: film.titles[id], steps: `${thousands(count)} ${count === 1 ? "batch" : "batches"}`, near: one.near[moment][chosen - 1], recall: one.recall[moment],
    places: one.map[moment].slice(0, one.map[0].length - film.new.length), way: one.map.slice(0, moment + 1).map((places) => places[own]),
  };
}

function story(state) {
  const { film, reads } = state;
  const now = shown(state);
  const [start, end] = [now.way[0], now.way[now.way.length - 1]];
  const moved = Math.hypot(end[0] - start[0], end[1] - start[1]) / 100;
  const tower = reads === "features" ? "that reads genres and year" : "with a row for each film, and no features";
  const went = moved < 0.005 ? "stands where it was drawn" : `has moved by ${moved.toFixed(2)} on the map, though no batch held it`;
  return `After ${now.steps}, in a film tower ${tower}, ${now.title} ${went}. ` +
    `Lists of ten new films hold ${wholePercent(now.recall)} of the pairs on new films; ten films drawn at random would hold ${wholePercent(film.chance)}.`;
}

const HEADS = ["Batches", "Found with genres and year", "Found with nothing"];

const rows = ({ film }) => film.steps.map((steps, at) => [thousands(steps), ...["features", "nothing"].map((reads) => film.models[reads].recall[at].toFixed(3))]);

const asPython = ({ film, reads, moment, chosen }) => [
  "from course_lib.lessons.new_films import films", "from course_lib.lessons.new_films.sliding_film import SlidingFilm", "from course_lib.training.on_features import served_items", "",
  "at = films.at_cut()",
  ...(reads === "features"
    ? ["people, rows, weights = films.trained(films.features())", "served = served_items(rows, films.features(), weights, at.new)"]
    : ["people, served, _ = films.trained()"]),
  "found = films.recall_of_new(films.unit(people), films.unit(served))",
  `print(f"{found:.0%} of the pairs on new films, after ${thousands(film.steps[film.steps.length - 1])} batches")`,
  `SlidingFilm(reads="${reads}", moment=${moment}, chosen=${chosen})`].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

const ring = (x, y) => [svg("circle", { class: "cw-map-other", cx: x, cy: y, r: 8 }), svg("circle", { class: "cw-map-animated", cx: x, cy: y, r: 2.5 })];

function map({ film }, { places, way, steps, title }) {
  const { width, height, reach } = MAP;
  const at = ([across, up]) => [(width / 2) * (1 + across / reach), (height / 2) * (1 - up / reach)].map((value) => value.toFixed(1));
  const kinds = Object.entries(film.kinds).flatMap(([kind, films]) => films.map(() => Object.keys(KINDS).indexOf(kind)));
  const [x, y] = at(way[way.length - 1]);
  return framedMap(MAP, `A map of 42 rated films and the new film ${title} after ${steps}`,
    places.map((place, k) => filmMark(kinds[k], ...at(place))),
    svg("path", { class: "cw-map-leader", fill: "none", d: `M${way.map((place) => at(place).join(" ")).join("L")}` }),
    ring(x, y));
}

// The interactive "watch a two-tower model learn": stored moments of two trainings, the map of the films and one person's ten.
import { h, list, number, svg, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barLine, choice, filmLine, hero, key, showing } from "../shared/widgets/controls.js";
import { filmMark, framedMap } from "../shared/widgets/film_map.js";

const NAMES = ["film", "model", "moment", "person", "everything"];
const MODELS = [["plain", "the first loss"], ["corrected", "corrected for popularity"]];
const BARS = { plain: ["first loss", "cw-piece-pull"], corrected: ["corrected", "cw-piece-push"], popular: ["most popular", "cw-piece-other"] };
const KINDS = ["animated", "before 2000", "other"]; // in the order of their marks
const COVERED = 100; // px that a name rather moves than cover a mark
const LONGEST_BAR = 0.3; // of the hidden films: a bar over the whole width
const [LABELLED, LABELLED_ON_PHONE] = [4, 1]; // films of each kind that are named on the map
const WIDE = { width: 560, height: 400, reach: 88 }; // reach: hundredths from the centre to the edge
const NARROW = { width: 340, height: 190, reach: 84 };

export default showing(NAMES, class extends Interactive {
  build(parts, { film }) {
    this.control(choice, "model", { label: "Loss", options: MODELS });
    this.control(choice, "person", { label: "Person", options: film.people.map(({ number: name }, k) => [k + 1, name]) });
    const play = this.filmOf("moment", { text: "Passes over the data", last: film.passes.length - 1, milliseconds: 700, words: (_, state) => shown(state).passes });
    [parts.map, parts.whose, parts.liked, parts.likedOnPhone] = [h("div", {}), h("p", { class: "cw-card-title" }), ...[0, 1].map(() => h("p", { class: "cw-soft" }))];
    parts.ten = h("ol", { class: "cw-ten", "data-paper": true });
    parts.bars = Object.fromEntries(Object.entries(BARS).map(([name, [words, look]]) => [name, barLine(words, look, film.popular.recall / LONGEST_BAR)]));
    return hero(this, {
      head: { title: "Watch a two-tower model learn", lead: "We hid films that people liked. Press Play: which of the three finds most of them?" },
      controls: [h("div", { class: "cw-row" }, play), parts.model.box],
      picture: h("div", { class: "cw-hero-stage" }, h("div", {}, parts.map,
        h("ul", { class: "cw-legend" }, KINDS.map((kind, k) => key(kind === "other" ? "other films" : kind, filmMark(k, 10, 10))))),
      h("div", {}, h("p", { class: "cw-card-title" }, "Hidden films found"), h("div", { class: "cw-race" }, Object.values(parts.bars).map(({ box }) => box)), parts.whose, parts.liked, parts.ten)),
      more: { main: [parts.person.box, parts.likedOnPhone] },
    });
  }

  refresh(parts, state) {
    const now = shown(state);
    const { film, model, moment } = state;
    this.story = story(state);
    parts.map.replaceChildren(map(state, now, this.narrow));
    parts.whose.replaceChildren(`Best films for person ${now.person.number} `, h("span", { class: "cw-soft" }, "and ratings"));
    const liked = `Liked: ${list(now.person.liked.map((k) => film.titles[k]))}.`;
    [parts.liked.textContent, parts.likedOnPhone.textContent] = this.narrow ? ["", liked] : [liked, ""];
    parts.ten.replaceChildren(...now.ten.slice(0, this.narrow ? 5 : 10).map((k) => line(film, now.person, k)));
    const found = { popular: film.popular.recall, ...Object.fromEntries(MODELS.map(([name]) => [name, film.models[name].recall[moment]])) };
    for (const [name, bar] of Object.entries(parts.bars)) {
      bar.show(found[name] / LONGEST_BAR, wholePercent(found[name]));
      bar.box.classList.toggle("cw-racing", name === model);
    }
    this.fold({ numbers: () => [HEADS, rows(state), "Both models while they learn."], python: asPython(state) });
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

function shown({ film, model, moment, person }) {
  const { map: places, lists, recall, count } = film.models[model];
  const passes = film.passes[moment] === 1 ? "1 pass" : `${film.passes[moment]} passes`;
  return { passes, places: places[moment], ten: lists[moment][person - 1], recall: recall[moment], count: count[moment], person: film.people[person - 1] };
}

function story(state) {
  const { film, model } = state;
  const now = shown(state);
  const hits = now.ten.filter((k) => now.person.hidden.includes(k));
  const which = model === "plain" ? "with the first loss" : "corrected for popularity";
  return `After ${now.passes}, ${which}, the model finds ${wholePercent(now.recall)} of the hidden films; the most popular films are ${wholePercent(film.popular.recall)}. ` +
    `A film that it recommends has ${number(now.count)} ratings on average, a film among the most popular ${number(film.popular.count)}.` +
    (state.everything ? ` Of the ${now.person.hidden.length} hidden films of person ${now.person.number}, ${hits.length ? `${hits.length} ${hits.length === 1 ? "is" : "are"}` : "none is"} in the list` +
      `${hits.length ? `: ${list(hits.map((k) => film.titles[k]))}` : ""}.` : "");
}

const HEADS = ["Passes", ...["first loss", "corrected"].flatMap((name) => [`Hidden films found, ${name}`, `Mean ratings of a film, ${name}`])];

const rows = ({ film }) => film.passes.map((passes, at) => [String(passes),
  ...["plain", "corrected"].flatMap((name) => [film.models[name].recall[at].toFixed(3), number(film.models[name].count[at])])]);

const asPython = ({ film, model, moment, person }) => [
  "from course_lib.lessons.first_model import towers", "from course_lib.lessons.first_model.training_film import TrainingFilm", "", "train, test = towers.split()",
  `[(people, films)] = towers.trained(train, corrected=${model === "plain" ? "False" : "True"}, passes=${film.passes[moment]})`,
  `found = towers.recall(towers.best(people, films, train), test)`,
  `print(f"{found:.0%} of the hidden films")`,
  `TrainingFilm(model="${model}", moment=${moment}, person=${person})`].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

function map({ film }, { places, passes }, narrow) {
  const size = narrow ? NARROW : WIDE;
  const { width, height, reach } = size;
  const x = (value) => (width / 2) * (1 + value / reach);
  const y = (value) => (height / 2) * (1 - value / reach);
  let at = 0;
  const kinds = Object.entries(film.kinds).map(([kind, films]) => films.map((id, k) => ({ kind, id, named: k < (narrow ? LABELLED_ON_PHONE : LABELLED), place: places[at++] })));
  const dots = kinds.flat().sort((a, b) => a.named - b.named);
  const named = names(size, dots.filter((dot) => dot.named).map(({ id, place }) => ({ text: film.titles[id], left: x(place[0]), top: y(place[1]) })), dots.map(({ place }) => [x(place[0]), y(place[1])]));
  return framedMap(size, `A map of 48 films after ${passes}`,
    named.filter(({ far }) => far).map(leader),
    dots.map(({ kind, place }) => filmMark(KINDS.indexOf(kind), x(place[0]).toFixed(1), y(place[1]).toFixed(1))),
    named.map(({ text, start, end, at, left }) => svg("text", { class: `cw-map-name ${end < left ? "cw-end" : "cw-start"}`, x: (end < left ? end : start).toFixed(1), y: (at + 4).toFixed(1) }, text)));
}

/** A line from a mark to its name. */
function leader({ start, end, at, left, top }) {
  const foot = Math.min(Math.max(left, start + 4), end - 8);
  return svg("path", { class: "cw-map-leader", d: `M${foot.toFixed(1)} ${(at + 8 * Math.sign(top - at)).toFixed(1)}L${left.toFixed(1)} ${top.toFixed(1)}` });
}

/** Where names stand: near their dots, where they cover the fewest marks; a name that would cover another is left out. */
function names(size, wanted, marks) {
  const taken = [];
  return wanted.flatMap(({ text, left, top }) => {
    const wide = 8.4 * text.length + 6; // about, at the 15 px of a phone
    const away = ([start, at]) => Math.hypot(Math.max(start - left, 0, left - start - wide), at - top);
    const hits = ([start, at]) => marks.filter(([across, down]) => across > start - 6 && across < start + wide + 3 && Math.abs(down - at) < 13).length;
    const cost = (place) => COVERED * hits(place) + away(place);
    const free = around(left, top, wide).filter(([start, at]) => (
      start > 0 && start + wide < size.width && at > 12 && at < size.height - 12 && !taken.some((other) => Math.abs(other.at - at) < 18 && start < other.end + 4 && other.start < start + wide + 4)));
    if (!free.length) return [];
    const [start, at] = free.reduce((best, place) => (cost(place) < cost(best) ? place : best));
    taken.push({ at, start, end: start + wide });
    return [{ text, start, end: start + wide, at, left, top, far: away([start, at]) > 18 }];
  });
}

/** Beside a dot, and up to seven lines above and below it, at either side. */
function around(left, top, wide) {
  const starts = [8, 40, 72].flatMap((far) => [left + far, left - far - wide]);
  const lines = [0, 16, 32, 48, 64, 80, 96, 112].flatMap((far) => [top - far, top + far]);
  return [left - wide / 2, ...starts].flatMap((start) => lines.filter((at) => start + wide < left || start > left || at !== top).map((at) => [start, at]));
}

const line = (film, person, k) => filmLine(film.titles[k], person.hidden.includes(k) && "hidden film",
  h("span", { class: "cw-soft" }, ` ${film.counts[k]} ${film.counts[k] === 1 ? "rating" : "ratings"}`));

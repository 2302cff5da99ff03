// The interactive "you and today": the ten films of one person, by the model's cosine and by the hits of the day.
import { drawing, h, list, number, svg, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barPiece, card, filmLine, hero, namedBar, showing, slider } from "../shared/widgets/controls.js";

const NAMES = ["films", "temperature", "weight", "day", "everything"];
const FLOOR = 0.05; // ratings of the day that every film is given
const TOP = 10;
const MOST = 0.4; // of the bars and the curve of films found

export default showing(NAMES, class extends Interactive {
  build(parts, { films }) {
    const places = (name, text, values, words) => this.control(slider, name, { text, min: 0, max: values.length - 1, step: 1, words: (place) => words(values[place]) });
    places("temperature", "Temperature", films.temperatures, number);
    places("weight", "Weight of today’s hits", films.weights, number);
    places("day", "Day", films.days, dayWords);
    parts.ten = h("ol", { class: "cw-ten", "data-paper": true });
    parts.everybody = h("div", { class: "cw-bars" });
    [parts.curve, parts.below] = [h("div", {}), h("div", {})]; // beside the lists, and on a phone below them
    const found = "Films found, by the weight of the hits (dashed: the hits of the day alone)";
    return hero(this, {
      head: { look: "cw-one-screen", title: "A person’s taste and today’s hits", lead: `The ten films for person ${films.person}, who liked ${list(films.liked, 5)}, among others.` },
      controls: [parts.weight, parts.temperature, parts.day].map(({ box }) => box),
      picture: h("div", { class: "cw-stage cw-stage-chart" },
        card(parts.ofPerson = h("span"), "",
          h("ul", { class: "cw-legend" }, h("li", {}, swatch("pull"), "taste: cosine over temperature, from its least"), h("li", {}, swatch("push"), "popular today: weight times log of the hits")), parts.ten),
        card("The ten films of everybody", `(a full bar of films found is ${wholePercent(MOST)})`, parts.everybody, h("div", { class: "cw-wide-only", style: "margin-top:1rem" }, h("p", { class: "cw-card-title" }, found), parts.curve))),
      more: { view: h("div", { class: "cw-narrow-only" }, card(found, "", parts.below)) },
    });
  }

  refresh(parts, state) {
    const { films } = state;
    const now = shown(state);
    this.story = story(state, now);
    const most = Math.max(...now.ten.map(({ you, today }) => you + today));
    parts.ofPerson.textContent = `${this.narrow ? "The first of ten" : "Ten"} films for person ${films.person}`;
    parts.ten.replaceChildren(...now.ten.filter(({ later }, k) => !this.narrow || k < 5 || later).map((film) => line(film, most)));
    parts.everybody.replaceChildren(
      namedBar(wholePercent(now.recall), "of the films that people like later are in their lists", piece("pull", now.recall / MOST)),
      namedBar(wholePercent(now.listRecall), "if every list held the hits of the day", piece("other", now.listRecall / MOST)),
      namedBar(String(now.films), `of ${films.all} films stand in some list`, piece("pull", now.films / films.all)),
      namedBar(String(now.listFilms), "if every list held the hits of the day", piece("other", now.listFilms / films.all)));
    for (const place of [parts.curve, parts.below]) place.replaceChildren(curve(state, now));
    this.fold({ numbers: () => [HEADS, rows(state), "Everybody’s lists at this temperature and on this day."], python: asPython(state) });
  }
});

// ---- what is shown -------------------------------------------------------------------------------------------------------

/** The ten films, best first, with both parts of their scores, each counted from the least that a film can have. */
function shown({ films, temperature, weight, day }) {
  const tau = films.temperatures[temperature];
  const known = new Set(films.seen[day]);
  const later = new Set(films.later[day]);
  const scored = films.titles.map((title, k) => ({
    title, later: later.has(k),
    you: (films.cosines[temperature][k] - films.least[temperature]) / tau,
    today: films.weights[weight] * Math.log((films.hits[day][k] + FLOOR) / FLOOR),
  })).filter((_, k) => !known.has(k));
  const ten = scored.sort((a, b) => b.you + b.today - a.you - a.today).slice(0, TOP);
  const [recall, count] = films.everybody[day][temperature][weight];
  const [listRecall, listFilms] = films.list[day];
  return { ten, recall, films: count, listRecall, listFilms };
}

const dayWords = (day) => (day === 0 ? "the first" : `${day} days later`);

function story({ films, temperature, weight, day }, now) {
  const own = now.ten.reduce((sum, { you, today }) => sum + you / (you + today), 0) / TOP;
  const hits = now.ten.filter(({ later }) => later);
  const when = films.days[day] === 0 ? "On the first day" : `${films.days[day]} days later`;
  return `${when}, at temperature ${number(films.temperatures[temperature])}, with weight ${number(films.weights[weight])} for the hits, ` +
    `the lists find ${wholePercent(now.recall)} of the films that people like later and show ${now.films} films; ` +
    `the list of hits finds ${wholePercent(now.listRecall)} and shows ${now.listFilms}. ` +
    `Of the ten bars of person ${films.person}, ${wholePercent(own)} is taste on average. ` +
    `The person liked ${hits.length ? list(hits.map(({ title }) => title)) : "none of the ten"} later.`;
}

const HEADS = ["Weight of the hits", "Share of later films found", "Films in some list"];

const rows = ({ films, temperature, day }) => films.weights.map((weight, at) => {
  const [recall, count] = films.everybody[day][temperature][at];
  return [number(weight), recall.toFixed(3), String(count)];
});

const asPython = ({ films, temperature, weight, day }) => [
  "from course_lib import hits, metrics", "from course_lib.lessons.negatives.make_ten_films import found, now, on_day, split",
  "from course_lib.lessons.negatives.ten_films import TenFilms", "from course_lib.training.on_pairs import cosine_tables", "",
  `tau, day = ${films.temperatures[temperature]}, ${films.days[day]}`,
  "people, films = cosine_tables(split()[0], tau=tau, in_time=True)",
  "known, later = on_day(day)",
  "counts = hits.decayed_counts(known, 3.0, now=now(day))",
  `people, films = hits.with_hits(people, films, counts, tau=tau, weight=${films.weights[weight]})`,
  "recall, shown = found(metrics.top_k(people, films, known, 10), later)",
  'print(f"{recall:.3f} found, {shown} films shown")',
  `TenFilms(temperature=${temperature}, weight=${weight}, day=${day})`].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

const CURVE = { width: 400, height: 112, left: 54, top: 10, bottom: 24 };

/** The share found against the weight, at this temperature and on this day; a dashed line for the list of hits. */
function curve({ films, temperature, weight, day }, { listRecall }) {
  const { width, height, left, top, bottom } = CURVE;
  const found = films.everybody[day][temperature].map(([recall]) => recall);
  const x = (at) => left + 12 + ((width - left - 24) * at) / (found.length - 1);
  const y = (part) => top + (height - top - bottom) * (1 - part / MOST);
  const line = found.map((part, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(part).toFixed(1)}`).join("");
  return drawing({ width, height }, { "aria-label": "The share of films found against the weight of the hits" },
    [0, 0.2, 0.4].map((part) => [svg("path", { class: "cw-frame", d: `M${left} ${y(part).toFixed(1)}H${width}` }), svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: (y(part) + 4).toFixed(1) }, wholePercent(part))]),
    films.weights.map((value, at) => svg("text", { class: "cw-axis-text", x: x(at).toFixed(1), y: height - 6 }, number(value))),
    svg("path", { class: "cw-line-mean-norm", d: `M${left} ${y(listRecall).toFixed(1)}H${width}` }),
    svg("path", { class: "cw-line-norm", d: line }),
    svg("circle", { class: "cw-map-animated", cx: x(weight).toFixed(1), cy: y(found[weight]).toFixed(1), r: 6 }));
}

const piece = (kind, part) => barPiece(`cw-piece-${kind}`, part);

const swatch = (kind) => h("span", { class: `cw-piece cw-piece-${kind}`, style: "display:inline-block;width:1.1em;height:0.8em", "aria-hidden": "true" });

const line = ({ title, later, you, today }, most) => filmLine(title, later && "liked later", h("span", { class: "cw-soft" }, ` ${you.toFixed(1)} + ${today.toFixed(1)}`),
  h("div", { class: "cw-track", "aria-hidden": "true", style: "height:0.55rem" }, piece("pull", you / most), piece("push", today / most)));

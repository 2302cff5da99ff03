// The hero of the chapter: wrong answers pile up over the hits, batch by batch, and one person's five films leave the hits.
import { drawing, h, list, svg, thousands } from "../shared/widgets/kit.js";
import { Interactive, barPiece, card, choice, filmLine, hero, namedBar, showing } from "../shared/widgets/controls.js";

const NAMES = ["films", "moment", "repair", "everything"];
const MOMENTS = [0, 1, 5, 20, 82, 328, 1640]; // batches
const REPAIRS = [["none", "nothing"], ["logq", "subtract log q in training"], ["serving", "add log count when serving"]];
const FIVE = [1, 2, 3, 4, 5];
const FRAME = { width: 500, height: 290, left: 86, right: 10, top: 14, bottom: 26, most: 16 }; // most: of the hill, in equal shares

export default showing(NAMES, class extends Interactive {
  build(parts, { films }) {
    this.control(choice, "repair", { label: "Repair", options: REPAIRS });
    const play = this.filmOf("moment", { text: "Batches drawn", last: MOMENTS.length - 1, milliseconds: 1100, words: (moment) => thousands(MOMENTS[moment]) });
    parts.hill = svg("path", { class: "cw-hill" });
    parts.discs = FIVE.map((place) => svg("g", { class: "cw-disc" }, svg("circle", { r: 11 }), svg("text", { y: 5 }, place)));
    parts.five = h("ol", { class: "cw-ten", "data-paper": true });
    parts.everybody = h("div", { class: "cw-bars" });
    return hero(this, {
      head: { title: "Your batch hides the hits", lead: "Press Play. Each batch of 256 liked pairs makes its films wrong answers for other people. The hill: how often each film is pushed away." },
      picture: h("div", { class: "cw-hero-stage" }, this.picture(films), h("div", {},
        h("p", { class: "cw-card-title" }, `Five films for person ${films.person} `, h("span", { class: "cw-soft" }, `who liked ${list(films.liked)}`)), parts.five)),
      controls: [h("div", { class: "cw-row" }, play), parts.repair.box],
      more: { view: card("Everybody’s lists", "", parts.everybody) },
    });
  }

  picture(films) {
    const { width, height, left, right, bottom } = FRAME;
    return drawing({ width, height }, { "aria-label": "How hard each film is pushed away as a wrong answer; the text says it in words" },
      this.parts.hill,
      svg("path", { class: "cw-asked-line", d: `M${left} ${up(1)}H${width - right}` }),
      [1, 5, 10, 15].map((times) => svg("text", { class: "cw-hero-text cw-end", x: left - 4, y: up(times) + 5 }, times === 1 ? "average" : `${times}×`)),
      (this.parts.name = svg("text", { class: "cw-hero-text cw-start", x: across(1, films) + 8, y: up(15) + 5 })),
      svg("text", { class: "cw-hero-text cw-start", x: left, y: height - bottom + 18 }, "← the hits"),
      svg("text", { class: "cw-hero-text cw-end", x: width - right, y: height - bottom + 18 }, "films with few fans →"),
      this.parts.discs);
  }

  refresh(parts, state) {
    const { films, moment, repair } = state;
    const pushes = pushesOf(state);
    const five = films.lists[repair][moment];
    this.story = story(state);
    parts.hill.setAttribute("d", hill(pushes, films));
    parts.name.textContent = pushes[0] > 10 ? `${films.names[0]} is pushed away ${Math.round(pushes[0])}× as often` : "";
    apart(five.map((place) => [(across(place, films) + across(place + 1, films)) / 2, up(pushes[place]) - 12]))
      .forEach(([x, y], k) => { parts.discs[k].style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`; });
    parts.five.replaceChildren(...five.map((place) => line(films, place)));
    const [found, shown] = films.found[repair][moment];
    parts.everybody.replaceChildren(
      namedBar(`${found.toFixed(1)} %`, "of the films in the lists are hidden films of the person", barPiece("cw-piece-pull", found / 10)),
      namedBar(`${films.popular[0].toFixed(1)} %`, "in a list of hits", barPiece("cw-piece-other", films.popular[0] / 10)),
      namedBar(`${shown}`, `of ${films.counts.length} films stand in some list`, barPiece("cw-piece-pull", shown / films.counts.length)),
      namedBar(`${films.popular[1]}`, "in a list of hits", barPiece("cw-piece-other", films.popular[1] / films.counts.length)));
    this.fold({ numbers: () => [HEADS, rows(state), "The whole training, with this repair."], python: asPython(state) });
  }
});

// ---- what is shown -------------------------------------------------------------------------------------------------------

/** How hard each film is pushed away while all scores are equal, in shares of an equal push: draws, with logQ divided by popularity. */
function pushesOf({ films, moment, repair }) {
  const weights = films.draws[moment].map((times, k) => (repair === "logq" ? times / films.counts[k] : times));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (total ? (weight * weights.length) / total : 0));
}

function story({ films, moment, repair, everything }) {
  const [found, shown] = films.found[repair][moment];
  const fans = films.lists[repair][moment].map((place) => films.counts[place]).sort((a, b) => a - b)[2];
  const how = { none: "without a repair", logq: "with log q subtracted in training", serving: "with the log of the count added when serving" }[repair];
  return `After ${thousands(MOMENTS[moment])} ${moment === 1 ? "batch" : "batches"}, ${how}, ${found.toFixed(1)} % of the recommendations are right; simply listing the hits gives ${films.popular[0].toFixed(1)} %. The median film of the five has ${fans} fans, ${films.names[0]} has ${films.counts[0]}.` +
    (everything ? ` The lists show ${shown} of ${films.counts.length} films, the list of hits ${films.popular[1]}.` : "");
}

const HEADS = ["Batches", "Hidden films in the lists, %", "Films shown", "Five films for the person"];

const rows = ({ films, repair }) => MOMENTS.map((batches, at) => [thousands(batches), films.found[repair][at][0].toFixed(2), String(films.found[repair][at][1]),
  films.lists[repair][at].map((place) => films.names[place]).join("; ")]);

const asPython = ({ moment, repair }) => [
  "from itertools import islice", "from course_lib.experiments import p3", "from course_lib.lessons.in_batch_bias import films",
  "from course_lib.lessons.in_batch_bias.hidden_hits import HiddenHits", "",
  'train, test = p3.load_split("movietweetings-10core", 0)',
  `*_, model = islice(films.along(train, "${repair === "logq" ? "logq" : "softmax"}", seed=0), ${MOMENTS[moment] + 1})`,
  ...(repair === "serving" ? ["model = films.plus_log_popularity(*model, train)"] : []),
  "found = films.lists(model, train, test)", 'print(f"{found.precision:.1f} %, {found.films} films shown")',
  `HiddenHits(moment=${moment}, repair="${repair}")`].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

/** Where a film begins: by the logarithm of its place, so that hits are wide. */
const across = (place, { counts }) => FRAME.left + ((FRAME.width - FRAME.left - FRAME.right) * Math.log(place + 1)) / Math.log(counts.length + 1);

const up = (times) => FRAME.height - FRAME.bottom - (Math.min(times, FRAME.most) / FRAME.most) * (FRAME.height - FRAME.bottom - FRAME.top);

/** Places with none upon another: one that would cover an earlier one goes above it. */
const apart = (places) => places.reduce((done, [x, y]) => {
  let free = y;
  while (done.some(([left, top]) => Math.hypot(left - x, top - free) < 20)) free -= 4;
  return [...done, [x, free]];
}, []);

const hill = (pushes, films) => `M${FRAME.left} ${up(0)}${pushes.map((push, place) => `V${up(push).toFixed(1)}H${across(place + 1, films).toFixed(1)}`).join("")}V${up(0)}Z`;

const line = (films, place) => filmLine([films.names[place], h("span", { class: "cw-soft" }, ` ${films.counts[place]} fans`)], films.hidden.includes(place) && "hidden film");

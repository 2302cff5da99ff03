// The interactive "choose its neighbours": a film, ten others of the reader's choice, and a model with the same scores in
// which these are the nearest.
import { h, list, number, power, remembered, short, sized, svg, thousands, uniqueId } from "../shared/widgets/kit.js";
import { Interactive, button, choice, diamond, hero, ladder, presets, selection, showing } from "../shared/widgets/controls.js";
import { analyse, tablesOf } from "./chosen_neighbours_math.js";

const NAMES = ["model", "film", "chosen", "stretch", "width", "everything"];
const STRETCHES = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000];
const WIDTHS = [[16, "16"], [8, "8"], [4, "4"]];
const PLACES = ["First film", "Second film", "Third film"];
const [MOST, TOP] = [10, 10];

export default showing(NAMES, class extends Interactive {
  build(parts, { model: { cartoons, oldest, titles } }) {
    const usual = { film: "Fast & Furious 6", stretch: 100, width: 16 };
    const sets = {
      cartoons: { text: "The nine cartoons", set: { ...usual, chosen: cartoons } },
      oldest: { text: "The ten oldest films", set: { ...usual, chosen: oldest } },
      narrow: { text: "Ten films, but 8 numbers per film", set: { ...usual, chosen: oldest, width: 8 } },
      none: { text: "Nothing chosen", set: { ...usual, chosen: [] } },
    };
    parts.presets = presets(sets, (name) => this.set(sets[name].set));
    this.sorted = [...titles].sort((a, b) => a.localeCompare(b, "en"));
    const options = this.sorted.map((title) => [title, title]);
    this.control(selection, "film", { text: "Film", options });
    parts.slots = PLACES.map((text, k) => selection({ name: `choice ${k}`, text, options: [["", "no film"], ...options], onset: (title) => this.put(k, title) }));
    parts.picker = new Picker(titles, (title) => this.toggle(title));
    this.control(ladder, "stretch", { text: "Stretch", values: STRETCHES, words: number });
    this.control(choice, "width", { label: "Numbers per film", options: WIDTHS });
    parts.lists = h("div", { class: "cw-lists" });
    this.lines = new Lines();
    this.tables = remembered(tablesOf);
    return hero(this, {
      head: { look: "cw-close cw-neighbours", title: "Choose any three films: they become the nearest to a fourth", lead: "Above: films by their cosine with that film in a trained model. Below: a model made for your choice." },
      controls: parts.slots.map(({ box }) => box),
      picture: this.lines.root,
      more: {
        start: parts.presets.box,
        main: [parts.film.box, parts.picker.box, button("random", "Ten at random", () => this.set({ chosen: this.random() }))],
        view: h("div", { class: "cw-card" }, parts.lists),
        more: [parts.stretch.box, parts.width.box],
      },
    });
  }

  /** The chosen films without the film itself, which the reader may have taken after it was chosen. */
  picked() {
    const { chosen, film } = this.state();
    return chosen.filter((title) => title !== film);
  }

  toggle(title) {
    const [chosen, { film }] = [this.picked(), this.state()];
    if (chosen.includes(title)) this.set({ chosen: chosen.filter((other) => other !== title) });
    else if (chosen.length < MOST && title !== film) this.set({ chosen: [...chosen, title] });
  }

  /** One of the first three places gets a film, or none. */
  put(place, title) {
    const chosen = this.picked();
    chosen[Math.min(place, chosen.length)] = title;
    this.set({ chosen: chosen.filter(Boolean) });
  }

  /** Ten films that are neither the film nor among its ten nearest. */
  random() {
    const { film, model: { titles } } = this.state();
    const near = this.found.nearestBefore.slice(0, TOP).map((id) => titles[id]);
    const left = titles.filter((title) => title !== film && !near.includes(title));
    return Array.from({ length: MOST }, () => left.splice(Math.floor(Math.random() * left.length), 1)[0]);
  }

  refresh(parts, state) {
    const { titles } = state.model;
    const chosen = this.picked();
    const asked = { query: titles.indexOf(state.film), chosen: chosen.map((title) => titles.indexOf(title)), stretch: state.stretch };
    this.found = { ...asked, ...analyse(this.tables(state.model, state.width), asked) };
    const said = sentences(state, this.found);
    this.story = (state.everything ? said : said.filter((_, k) => k === 0 || k === said.length - 1)).join(" ");
    this.showChosen(parts, state, chosen);
    this.lines.show(this.found, { ...state, narrow: this.narrow, name: this.story });
    this.showLists(state);
    this.fold({ numbers: () => [HEADS, rowsOf(state, this.found), "The ten nearest films of each model, and the chosen films."], python: asPython(state, chosen) });
  }

  showChosen(parts, { film }, chosen) {
    parts.slots.forEach((slot, k) => {
      slot.show(chosen[k] ?? "");
      this.sorted.forEach((title, place) => (slot.choices[place + 1].disabled = title === film || (title !== chosen[k] && chosen.includes(title))));
    });
    parts.picker.show(film, chosen);
  }

  showLists({ model: { titles } }) {
    const { before, after, chosen, nearestAfter, nearestBefore } = this.found;
    const column = (title, order, cosines) => h("div", {}, h("p", { class: "cw-small-title" }, title),
      h("ol", { class: "cw-ranking cw-titles" }, order.slice(0, TOP).map((id) => h("li", { class: chosen.includes(id) ? "cw-picked" : "" },
        h("span", {}, titles[id], chosen.includes(id) ? " ✓" : ""), h("span", { class: "cw-value" }, three(cosines[id]))))));
    this.parts.lists.replaceChildren(column("Ten nearest, as trained", nearestBefore, before),
      after ? column("Ten nearest in your model", nearestAfter, after) : h("p", { class: "cw-message" }, this.story));
  }

});

/** A list of films to choose from, and a field that leaves those whose title has what is typed. */
class Picker {
  constructor(titles, ontoggle) {
    const id = uniqueId("picker");
    Object.assign(this, { titles, ontoggle, active: 0, plain: titles.map(plain) });
    this.count = h("span", { class: "cw-value" });
    this.input = h("input", { type: "search", id, name: "find", class: "cw-find", autocomplete: "off", placeholder: "type a part of the title", oninput: () => this.filter(), onkeydown: (event) => this.onKey(event) });
    this.options = titles.map((title, k) => h("li", { role: "option", id: `${id}-${k}`, class: "cw-pick", "aria-selected": "false", onclick: () => { this.activate(k); ontoggle(title); } }, title));
    this.list = h("ul", { class: "cw-picks", role: "listbox", tabindex: "0", "aria-label": "Films to choose", "aria-multiselectable": "true", onkeydown: (event) => this.onKey(event) }, this.options);
    this.box = h("div", { class: "cw-picker" }, h("label", { class: "cw-label", for: id }, "Neighbours ", this.count), this.input, this.list);
    this.activate(0);
  }

  /** The numbers of the films that are left. */
  left() {
    const wanted = plain(this.input.value ?? "");
    return this.titles.map((_, k) => k).filter((k) => k !== this.film && this.plain[k].includes(wanted));
  }

  filter() {
    const left = new Set(this.left());
    this.options.forEach((option, k) => (option.hidden = !left.has(k)));
    if (!left.has(this.active) && left.size) this.activate([...left][0]);
  }

  activate(k) {
    this.options[this.active].classList.remove("cw-active");
    this.options[k].classList.add("cw-active");
    this.active = k;
    this.list.setAttribute("aria-activedescendant", this.options[k].getAttribute("id"));
    const { offsetHeight: height, offsetTop: top } = this.options[k];
    const { clientHeight: room, scrollTop: from } = this.list;
    if (top < from) this.list.scrollTop = top;
    else if (top + height > from + room) this.list.scrollTop = top + height - room;
  }

  onKey(event) {
    const left = this.left();
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 }[event.key];
    const takes = event.key === "Enter" || (event.key === " " && event.currentTarget === this.list);
    if (!left.length || !(by || takes)) return;
    event.preventDefault();
    if (takes) return void this.ontoggle(this.titles[this.active]);
    this.list.focus();
    this.activate(left[Math.max(0, Math.min(left.length - 1, left.indexOf(this.active) + by))]);
  }

  show(film, chosen) {
    this.film = this.titles.indexOf(film);
    this.filter();
    this.count.textContent = `${chosen.length} of ${MOST} chosen`;
    this.options.forEach((option, k) => {
      const taken = chosen.includes(this.titles[k]);
      option.setAttribute("aria-selected", String(taken));
      option.setAttribute("aria-disabled", String(!taken && chosen.length >= MOST));
    });
  }
}

/** A title without accents and capitals. */
const plain = (text) => text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

// ---- words ---------------------------------------------------------------------------------------------------------------

/** 0.999, −0.034: as many figures as tell two near cosines apart; 0.000 has no sign. */
const three = (value) => value.toFixed(3).replace(/^-(?=.*[1-9])/, "−").replace("-", "");

const sentences = (state, found) => (found.refusal ? refusal(state, found) : found.chosen.length ? success(state, found) : invitation(state, found));

const names = ({ model: { titles } }, ids) => ids.map((id) => titles[id]);

const invitation = (state, { nearestBefore }) => [
  `As trained, the films nearest to ${state.film} are ${list(names(state, nearestBefore.slice(0, 3)))}.`,
  "Choose other films from the list, or type a part of a title. With each choice the page makes another model."];

function refusal(state, { refusal: kind, at, chosen }) {
  const title = state.model.titles[at];
  if (kind === "dependent") return [`This choice cannot be made: the vector of ${title} is a sum of multiples of the vectors of the other chosen films.`, "No gauge can move it on its own."];
  return [`With ${state.width} numbers for each film this construction has room for ${state.width - 2} neighbours, and you chose ${chosen.length}: there is no room for ${title}.`,
    `The vectors of ${state.film} and ${state.width - 1} others fill all ${state.width} directions, so that no direction is left into which the remaining films could be pushed.`,
    `Take films away, or take more numbers.`];
}

function success(state, { after, change, changed, chosen, nearestAfter, nearestBefore, trained }) {
  const wanted = new Set(chosen);
  const near = nearestAfter.slice(0, chosen.length).filter((id) => wanted.has(id));
  const early = nearestBefore.slice(0, TOP).filter((id) => wanted.has(id)).length;
  const least = Math.min(...chosen.map((id) => after[id]));
  const next = nearestAfter.find((id) => !wanted.has(id));
  const [count, one] = [chosen.length, chosen.length === 1];
  const missed = one ? `Your film is not the nearest to ${state.film}` : `${near.length ? `Only ${near.length}` : "None"} of your ${count} films ${near.length < 2 ? "is" : "are"} among the ${count} nearest to ${state.film}`;
  const now = near.length === count
    ? `In the model that you made, ${one ? `the film nearest to ${state.film} is the one` : `the ${count} films nearest to ${state.film} are those`} that you chose.`
    : `${missed}: with a stretch of ${number(state.stretch)} the films that you did not choose are not yet far enough away. Stretch more.`;
  return [now, `${one ? "Your film has a cosine of" : "Your choice has cosines of at least"} ${three(least)}, and the nearest other film has ${three(after[next])}.`,
    `As trained, ${one ? `your film was ${early ? "" : "not "}` : `${early || "none"} of your ${count} ${early > 1 ? "were" : "was"} `}among the ten nearest.`,
    `Largest difference of a prediction: ${power(change)}.`,
    `${changed} of ${thousands(trained.length * after.length)} predictions changed.`];
}

const HEADS = ["Film", "Chosen", "Cosine, as trained", "Place", "Cosine, your model", "Place in your model"];

function rowsOf({ model: { titles } }, { after, before, chosen, nearestAfter, nearestBefore }) {
  const ids = [...new Set([...(nearestAfter ?? []).slice(0, TOP), ...nearestBefore.slice(0, TOP), ...chosen])];
  const now = (id) => (after ? [three(after[id]), String(nearestAfter.indexOf(id) + 1)] : ["none", "none"]);
  return ids.map((id) => [titles[id], chosen.includes(id) ? "yes" : "no", three(before[id]), String(nearestBefore.indexOf(id) + 1), ...now(id)]);
}

/** Python that builds the same model with the library and computes the cosines of its ten nearest films. */
const asPython = ({ film, stretch, width }, chosen) => `import numpy as np

from course_lib import gauge, geometry
from course_lib.lessons.gauge_freedom.chosen_neighbours import ChosenNeighbours

shown = ChosenNeighbours(
    ${JSON.stringify(film)},
    [${chosen.map((title) => JSON.stringify(title)).join(", ")}],
    stretch=${stretch}, width=${width},
)
people, films = shown.tables
film, chosen = shown.rows
try:
    R = gauge.gauge_for_neighbours(films, film, chosen, stretch=shown.stretch) if chosen else np.eye(shown.width)
except ValueError as reason:
    print(reason)
else:
    new_people, new_films = gauge.apply_linear_gauge(people, films, R)
    print(np.abs(new_people @ new_films.T - people @ films.T).max(), "the largest change of a score")
    for other in gauge.neighbours(new_films, 10, queries=[film])[0]:
        print(f"{geometry.cosine(new_films[film], new_films[other]):.3f}", shown.model["titles"][other])
shown`;

// ---- picture -------------------------------------------------------------------------------------------------------------

const WIDE = { width: 920, height: 300, side: 14, above: 96, below: 214, letters: 60 };
const NARROW = { width: 358, height: 330, side: 12, above: 112, below: 244, letters: 32 };
// letters: at most of a name
const LETTER = 6.6, LINE = 19; // the width of a letter of a name; from one name to the next

/** Every film on two lines by its cosine to the film: as trained above, in the reader's model below. */
class Lines {
  constructor() {
    this.root = svg("svg", { role: "img" });
    this.specks = svg("path", { class: "cw-specks cw-falling" });
    this.marks = svg("path", { class: "cw-item-head cw-plain cw-falling" });
  }

  show({ after, before, changed, chosen, query, trained }, { film, model: { titles }, narrow, name }) {
    const { width, height, side, above, below, letters } = narrow ? NARROW : WIDE;
    const x = (cosine) => side + ((1 + cosine) / 2) * (width - 2 * side);
    const others = before.map((_, id) => id).filter((id) => id !== query && !chosen.includes(id));
    const spots = (cosines, y) => others.map((id) => `M${x(cosines[id]).toFixed(1)} ${y}h0`).join("");
    const diamonds = (cosines, y) => chosen.map((id) => diamond(x(cosines[id]), y, 8)).join("");
    const words = (kind, place, y, text) => svg("text", { class: `cw-hero-text ${kind}`, x: place.toFixed(1), y }, text);
    const label = (cosines, id) => `${short(titles[id], letters)} ${three(cosines[id])}`;
    const starts = (cosines, id) => x(cosines[id]) + LETTER * label(cosines, id).length < width - side; // else it would run over the edge
    const named = (cosines, id, y) => words(starts(cosines, id) ? "cw-start" : "cw-end", x(cosines[id]), y, label(cosines, id));
    const row = (id) => (starts(before, id) ? -1 : 1) * x(before[id]); // so that no line to a mark crosses a name
    const few = chosen.length <= PLACES.length ? [...chosen].sort((a, b) => row(a) - row(b)) : [];
    sized(this.root, { width, height });
    this.root.setAttribute("aria-label", name);
    this.root.replaceChildren(...[
      svg("path", { class: "cw-frame", d: `M${side} ${above}H${width - side}${after ? `M${side} ${below}H${width - side}` : ""}` }),
      svg("path", { class: "cw-hero-way", d: after ? chosen.map((id) => `M${x(before[id]).toFixed(1)} ${above}L${x(after[id]).toFixed(1)} ${below}`).join("") : "" }),
      svg("path", { class: "cw-specks", d: spots(before, above) }), svg("path", { class: "cw-item-head cw-plain", d: diamonds(before, above) }),
      this.specks, this.marks,
      few.map((id, k) => named(before, id, above - 16 - LINE * k)), svg("path", { class: "cw-frame", d: few.map((id, k) => `M${x(before[id]).toFixed(1)} ${above - 9}v${-3 - LINE * k}`).join("") }),
      words("cw-start cw-soft", side, above + 24, narrow ? "as trained" : `cosine with ${film}, as trained`), words("cw-middle cw-soft", x(0), above + 24, "0"), words("cw-end cw-soft", width - side, above + 24, "cosine 1"),
      after ? [...few.map((id, k) => named(after, id, below + 26 + LINE * k)), words("cw-start cw-soft", side, below + 26, "your model"),
        words(`cw-start cw-hero-count${narrow ? " cw-small" : ""}`, side, above + 70, `${changed} of ${thousands(trained.length * after.length)}`), words("cw-start cw-hero-under", side, above + 98, "predicted scores changed")] : []].flat());
    this.fall(after ? [[this.specks, spots(before, above), spots(after, below)], [this.marks, diamonds(before, above), diamonds(after, below)]] : [], `${query} ${chosen}`);
  }

  /** The marks of the lower line; for another choice they come down from the upper one (where motion is welcome, see the style sheet). */
  fall(ways, asked) {
    for (const path of [this.specks, this.marks]) path.setAttribute("d", "");
    const falls = this.asked !== undefined && this.asked !== asked;
    this.asked = asked;
    this.root.classList.remove("cw-falls");
    for (const [path, start, end] of ways) {
      if (falls) path.setAttribute("d", start);
      if (falls) getComputedStyle(path).d; // the browser must have seen where the way begins
      this.root.classList.add("cw-falls");
      path.setAttribute("d", end);
    }
  }
}

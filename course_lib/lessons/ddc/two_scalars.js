// The interactive "two scalars": one user, their alpha and beta, the loss that learns them, and the ranks of their test items.
import { drawing, h, number, remembered, svg, wholePercent } from "../shared/widgets/kit.js";
import { beside, choice, diamond, framed, key, showing, slider } from "../shared/widgets/controls.js";
import { Movable } from "../shared/widgets/motion_plane.js";
import { WORLD, analyse, bestRank, final, gridAxis, isoline, levels, ofNegatives, ofPositives, partsOf, ranks, study, surface } from "./two_scalars_math.js";

const NAMES = ["items", "counts", "people", "names", "stored", "person", "alpha", "beta", "shift", "view"];
const PEOPLE = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gwen", "Hugo"];
const VIEWS = [["ddc", "DDC’s, which is learned"], ["served", "of the embedding that is served"]];
const FARTHEST = 50; // how large a scalar may be
const SHOWN = 5; // of the list

const tidy = (value) => Number(Math.max(-FARTHEST, Math.min(FARTHEST, value)).toFixed(4));

export default showing(NAMES, class extends Movable {
  build(parts, { people }) {
    this.study = remembered((items, counts, people_, person, shift) => study({ items, counts, people: people_, person, shift }));
    this.linesOf = remembered(levelLines);
    const scalar = (name, text) => this.control(slider, name, { text, min: WORLD.window[name][0], max: WORLD.window[name][1], step: 0.05, words: number });
    this.control(choice, "person", { label: "User", options: people.map((_, k) => [k, PEOPLE[k]]), onset: (k) => this.choose(k) });
    scalar("alpha", "α, along the popularity axis");
    scalar("beta", "β, along the preference axis");
    this.control(slider, "shift", { text: "Move all items, popularity axis", min: -2, max: 2, step: 0.25, words: (shift) => `${number(shift)} sd` });
    const chip = (name, text) => h("button", { type: "button", class: "cw-chip", "data-action": name, onclick: () => this.put(this.places[name]) }, text);
    parts.places = { minimum: chip("minimum", "Minimum of the DDC loss"), best: chip("best", "Best rank"), model: chip("model", "The model: 0 and 0") };
    return framed({ look: "cw-flow cw-words-under", title: "Two scalars for one user", lead: "DDC learns two numbers for each user from one loss, and serves an embedding that has another loss." }, beside({
      start: h("div", { class: "cw-presets", role: "group", "aria-label": "Go to" }, Object.values(parts.places)),
      main: [parts.person.box, parts.alpha.box, parts.beta.box],
      view: this.buildSurface(parts),
      words: parts.summary,
      more: [parts.shift.box, this.buildRanks(parts)],
    }), h("div", { class: "cw-folds" }, parts.folds.box, this.buildParts(parts)));
  }

  buildSurface(parts) {
    this.control(choice, "view", { label: "Loss", options: VIEWS });
    parts.lines = svg("g", { "aria-hidden": "true" });
    parts.marks = svg("g", { "aria-hidden": "true" });
    parts.handle = this.buildHandle();
    parts.surface = drawing({ ...FRAME, most: 375 }, { class: "cw-look", role: "group", "data-paper": true, onclick: (event) => this.put(this.under(event)) },
      axes(), parts.lines, parts.marks, parts.handle);
    return h("div", { class: "cw-card" }, parts.view.box, parts.surface,
      h("ul", { class: "cw-legend" },
        key("you: click, drag, arrow keys", svg("path", { class: "cw-now", d: "M4 4L16 16M16 4L4 16" })),
        key("the model", svg("circle", { class: "cw-chosen", cx: 10, cy: 10, r: 6 })),
        key("DDC’s minimum", svg("path", { class: "cw-item-head", d: diamond(10, 10, 7) })),
        key("best rank", svg("rect", { class: "cw-knob-item", x: 4, y: 4, width: 12, height: 12 })),
        key("equal loss, thicker where lower", svg("path", { class: "cw-level", "stroke-width": 2, d: "M1 15Q10 0 19 12" })),
        key("right of it popular items gain", svg("path", { class: "cw-bend", d: "M10 1V19" }))));
  }

  buildHandle() {
    return svg("g", { class: "cw-handle", ...this.grip("scalars", "The two scalars", FARTHEST) },
      svg("circle", { class: "cw-touch", r: 18 }), svg("path", { class: "cw-now", d: "M-7 -7L7 7M7 -7L-7 7" }));
  }

  buildRanks(parts) {
    const losses = ["DDC loss", "Loss of the served"].map((text, k) => h("div", {}, h("dt", {}, text), (parts[`loss${k}`] = h("dd", {}))));
    parts.tests = h("ul", { class: "cw-ranking" });
    parts.list = h("ol", { class: "cw-ranking" });
    return h("div", { class: "cw-card" }, h("dl", { class: "cw-facts" }, losses),
      h("p", { class: "cw-card-title" }, "Test items ", h("span", { class: "cw-soft" }, "rank, model → now")), parts.tests,
      h("p", { class: "cw-card-title cw-below" }, "Top of the list ", h("span", { class: "cw-soft" }, "with counts")), parts.list);
  }

  buildParts(parts) {
    parts.bars = h("div", { class: "cw-bars" });
    parts.made = h("details", { class: "cw-made" }, h("summary", {}, "What the scores of the test items are made of"), parts.bars,
      h("ul", { class: "cw-legend" },
        key("base score", svg("path", { class: "cw-part cw-part-base", d: "M1 10H19" })),
        key("β a, preference", svg("path", { class: "cw-part cw-part-pref", d: "M1 10H19" })),
        key("α b, popularity", svg("path", { class: "cw-part cw-part-pop", d: "M1 10H19" })),
        key("score of place 10", svg("path", { class: "cw-bend", d: "M10 1V19" }))));
    parts.made.addEventListener("toggle", () => this.showBars());
    return parts.made;
  }

  put([alpha, beta]) {
    this.set({ alpha: tidy(alpha), beta: tidy(beta) });
  }

  /** Another user, at the same marked place as the one before, so that users can be compared. */
  choose(person) {
    const name = Object.keys(this.places).find((one) => this.stands(one)) ?? "model";
    this.prepare({ ...this.state(), person });
    const [alpha, beta] = (this.places[name] ?? [0, 0]).map(tidy);
    this.set({ person, alpha, beta });
  }

  /** Whether the scalars are those of a marked place. */
  stands(name) {
    const { alpha, beta } = this.state();
    const place = this.places[name]?.map(tidy);
    return Boolean(place) && place[0] === alpha && place[1] === beta;
  }

  under(event) {
    const box = this.parts.surface.getBoundingClientRect();
    const unit = FRAME.width / box.width;
    return pointAt((event.clientX - box.left) * unit, (event.clientY - box.top) * unit);
  }

  placeOf() {
    const { alpha, beta } = this.state();
    return [alpha, beta];
  }

  move(_, place) {
    this.put(place);
  }

  /** What belongs to the user and the place of the items. */
  prepare({ items, counts, people, person, shift }) {
    this.studied = this.study(items, counts, people, person, shift);
    this.places = { model: [0, 0], minimum: this.studied.minimum, best: this.studied.best };
  }

  refresh(parts, state) {
    this.prepare(state);
    this.parts.lines.replaceChildren(...this.linesOf(this.studied.user, state.view));
    this.showMarks();
    this.found = analyse(state, this.studied);
    this.story = summary(state, this.found);
    this.showPlaces();
    this.showHandle(parts, state);
    this.showRanks(state);
    this.showBars();
    this.fold({ numbers: () => [HEADS, rowsOf(state, this.found), "The test items, and the ten items shown."], python: asPython(state) });
  }

  showPlaces() {
    const { places } = this.parts;
    places.minimum.disabled = !this.studied.minimum;
    for (const [name, one] of Object.entries(places)) one.setAttribute("aria-pressed", String(this.stands(name)));
  }

  showMarks() {
    const { parts, studied } = this;
    const mark = (point, draw) => (point && inside(point) ? draw(...at(point)) : null);
    parts.marks.replaceChildren(...[
      evenLine(studied.user.tilt),
      mark([0, 0], (x, y) => svg("circle", { class: "cw-chosen", cx: x, cy: y, r: 7 })),
      mark(studied.best, (x, y) => svg("rect", { class: "cw-knob-item", x: x - 6, y: y - 6, width: 12, height: 12 })),
      mark(studied.minimum, (x, y) => svg("path", { class: "cw-item-head cw-plain", d: diamond(x, y, 9) })),
    ].filter(Boolean));
  }

  showHandle(parts, { alpha, beta, view }) {
    const [x, y] = at([Math.max(ALPHA[0], Math.min(ALPHA[1], alpha)), Math.max(BETA[0], Math.min(BETA[1], beta))]);
    parts.handle.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    parts.handle.setAttribute("aria-valuenow", alpha.toFixed(2));
    parts.handle.setAttribute("aria-valuetext", pointText([alpha, beta]));
    parts.surface.setAttribute("aria-label", `${view === "ddc" ? "The DDC loss" : "The loss of the embedding that is served"} over α and β. ${this.story}`);
  }

  showRanks(state) {
    const { found, parts } = this;
    const { user } = found;
    found.losses.forEach((loss, k) => (parts[`loss${k}`].textContent = `${lossText(loss)} (${wholePercent(loss / found.lossOfModel)})`));
    parts.tests.replaceChildren(...user.test.map((item, k) => {
      const gain = found.ranksOfModel[k] - found.ranks[k];
      return h("li", {}, h("span", {}, nameOf(state, item)), h("span", { class: "cw-value" }, `${found.ranksOfModel[k]} → ${found.ranks[k]}`),
        h("span", { class: "cw-rise" }, gain > 0 ? `▲${gain}` : gain < 0 ? `▼${-gain}` : ""));
    }));
    parts.list.replaceChildren(...found.list.slice(0, SHOWN).map((item) => h("li", {}, h("span", {}, nameOf(state, item)), h("span", { class: "cw-value" }, String(user.counts[item])),
      user.test.includes(item) ? h("span", { class: "cw-rise" }, "✓ test item") : null)));
  }

  showBars() {
    const { found, parts } = this;
    if (!parts.made.open) return;
    const state = this.state();
    const needed = final(found.user, state.alpha, state.beta, found.list.slice(-1))[0];
    const steps = found.user.test.map((item) => running(partsOf(found.user, state, item)));
    const all = [needed, ...steps.flat()];
    const scaleOf = { low: Math.min(0, ...all), high: Math.max(0, ...all) };
    parts.bars.replaceChildren(...found.user.test.map((item, k) => h("div", { class: "cw-bar" },
      h("p", { class: "cw-bar-name" }, h("strong", {}, nameOf(state, item)), ` (count ${found.user.counts[item]})`), waterfall(steps[k], needed, scaleOf, nameOf(state, item)))));
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

const lossText = (value) => value.toFixed(3);
/** 1 standard deviation, −2 standard deviations. */
const deviations = (shift) => `${number(shift)} standard deviation${Math.abs(shift) === 1 ? "" : "s"}`;
const pointText = ([alpha, beta]) => `α = ${number(alpha)}, β = ${number(beta)}`;
const nameOf = ({ names }, item) => names[item] ?? `item ${item}`;

const summary = (state, found) => [aboutLosses(state, found), aboutRanks(state, found), aboutOptimum(state, found), aboutShift(state)].filter(Boolean).join(" ");

function aboutLosses({ person, alpha, beta }, { user, losses, lossOfModel }) {
  const history = `${PEOPLE[person]} has ${user.history.length} ${user.history.length === 1 ? "item" : "items"}.`;
  if (!alpha && !beta) return `${history} Both scalars are 0: the embedding that is served is the model’s, and both losses are ${lossText(lossOfModel)}.`;
  const [learned, served] = losses.map((loss) => wholePercent(loss / lossOfModel));
  return `${history} At ${pointText([alpha, beta])} the DDC loss is ${learned} of the model’s, and the loss of the embedding that is served is ${served} of it.`;
}

function aboutRanks({ alpha, beta }, { ranksOfModel, ranks: now, popularOfModel, popular }) {
  if (!alpha && !beta) return "";
  const [up, down] = [1, -1].map((side) => now.filter((rank, k) => side * (ranksOfModel[k] - rank) > 0).length);
  const moved = (many) => `${many || "none"} ${many === 1 || !many ? "stands" : "stand"}`;
  const [before, after] = [popularOfModel, popular].map(number);
  const mean = before === after ? `stays ${after}` : `goes from ${before} to ${after}`;
  return `Of the ${now.length} test items ${moved(up)} higher and ${moved(down)} lower than with the model. The mean count of the ten items shown ${mean}.`;
}

function aboutOptimum({ alpha, beta }, { user, minimum, best }) {
  const reach = `The best rank on the grid is ${bestRank(user, ...best)}, at ${pointText(best)}.`;
  if (!minimum) return `The DDC loss has no minimum: ${missing(user).join(" and ")}. ${reach}`;
  const here = tidy(minimum[0]) === alpha && tidy(minimum[1]) === beta;
  const where = here ? "here" : `at ${pointText(minimum)}`;
  return `The DDC loss is least ${where}${inside(minimum) ? "" : ", outside the picture"}; the best test item has rank ${bestRank(user, ...minimum)} there. ${reach}`;
}

/** Why there is no minimum. */
function missing(user) {
  const reasons = [
    [ofPositives(user), "no item of this user has a negative projection on e_pref, so a larger β only gains", "all items of this user have a negative projection on e_pref"],
    [ofNegatives(user), "no negative has a negative projection on e_pop, so a smaller α only gains", "no negative has a positive projection on e_pop, so a larger α only gains"],
  ];
  return reasons.flatMap(([[least, most], positive, negative]) => (least >= 0 ? [positive] : most <= 0 ? [negative] : []));
}

function aboutShift({ shift }) {
  return shift ? `All items are moved by ${deviations(shift)} along e_pop: no margin and no ranking of the model has changed.` : "";
}

const HEADS = ["Item", "Count", "Rank, model", "Rank now", "Base score", "β a", "α b", "Score"];

/** The test items and the list. */
function rowsOf(state, { user, list: shown }) {
  const items = [...new Set([...user.test, ...shown])];
  const [before, now] = [ranks(user, 0, 0, items), ranks(user, state.alpha, state.beta, items)];
  const scores = final(user, state.alpha, state.beta, items);
  return items.map((item, k) => {
    const name = user.test.includes(item) ? `${nameOf(state, item)} (test)` : nameOf(state, item);
    return [name, ...[user.counts[item], before[k], now[k]].map(String), ...[...partsOf(user, state, item), scores[k]].map(number)];
  });
}

/** Lines of Python that compute the two losses and the ranks, and show the same state. */
function asPython({ stored, person, alpha, beta, shift, view }) {
  const given = stored ? [] : ["users, items, train, test = trained_model  # yours; chosen and names as you had them"];
  return [
    "from course_lib.debiasing import ddc", "from course_lib.lessons.ddc.two_scalars import TwoScalars", "", ...given,
    `shown = TwoScalars(${stored ? "" : "users, items, train, test, "}person=${person}, alpha=${alpha}, beta=${beta}, shift=${shift}, view="${view}")`,
    "user = shown.user  # scores of all items, a = <e_pref, e_i>, b = <e_pop, e_i>",
    "own, others = user.history, user.others",
    "learned = ddc.user_loss(user.scores[own], user.scores[others], user.a[own], user.b[others], shown.alpha, shown.beta)",
    "final = user.scores + shown.beta * user.a + shown.alpha * user.b  # of the embedding that is served",
    "served = ddc.user_loss(final[own], final[others], user.a[own], user.b[others], 0, 0)",
    "ranks = [1 + int((final[user.candidates] > final[item]).sum()) for item in user.test]",
    "print(learned, served, ranks)", "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 340, height: 340, left: 34, right: 6, top: 6, bottom: 38 };
const { alpha: ALPHA, beta: BETA } = WORLD.window;
const STEP = { alpha: (ALPHA[1] - ALPHA[0]) / (WORLD.points - 1), beta: (BETA[1] - BETA[0]) / (WORLD.points - 1) };
const [WIDE, HIGH] = [FRAME.width - FRAME.left - FRAME.right, FRAME.height - FRAME.top - FRAME.bottom];

const at = ([alpha, beta]) => [FRAME.left + ((alpha - ALPHA[0]) / (ALPHA[1] - ALPHA[0])) * WIDE, FRAME.top + (1 - (beta - BETA[0]) / (BETA[1] - BETA[0])) * HIGH];

/** The scalars at a place of the picture, within the window. */
function pointAt(x, y) {
  const part = (value) => Math.max(0, Math.min(1, value));
  return [ALPHA[0] + part((x - FRAME.left) / WIDE) * (ALPHA[1] - ALPHA[0]), BETA[0] + part(1 - (y - FRAME.top) / HIGH) * (BETA[1] - BETA[0])];
}

/** Lines of equal loss of a user. */
function levelLines(user, view) {
  const grid = surface(user, view);
  const place = ([column, row]) => at([gridAxis("alpha")[0] + column * STEP.alpha, gridAxis("beta")[0] + row * STEP.beta]).map((value) => value.toFixed(1)).join(" ");
  return levels(grid).map((level, k) => svg("path", { class: "cw-level", "stroke-width": (2.8 - 0.25 * k).toFixed(2), d: isoline(grid, level).map(([from, to]) => `M${place(from)}L${place(to)}`).join("") }));
}

const inside = ([alpha, beta]) => alpha >= ALPHA[0] && alpha <= ALPHA[1] && beta >= BETA[0] && beta <= BETA[1];

function axes() {
  const { left, top, width, height } = FRAME;
  const whole = ([low, high]) => Array.from({ length: high - low + 1 }, (_, k) => low + k);
  return svg("g", { "aria-hidden": "true" },
    svg("rect", { class: "cw-half", x: left, y: top, width: WIDE, height: HIGH }),
    whole(ALPHA).map((value) => svg("text", { class: "cw-axis-text", x: at([value, 0])[0], y: height - 21 }, number(value))),
    whole(BETA).map((value) => svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: at([0, value])[1] + 4 }, number(value))),
    svg("text", { class: "cw-axis-text", x: (left + width) / 2, y: height - 4 }, "α"),
    svg("text", { class: "cw-axis-text", x: 8, y: top + HIGH / 2 }, "β"));
}

/** Where head and tail change alike: alpha + beta <e_pref, e_pop> = 0. */
function evenLine(tilt) {
  const ends = BETA.map((beta) => [-beta * tilt, beta]).map(([alpha, beta]) => {
    const cut = Math.max(ALPHA[0], Math.min(ALPHA[1], alpha));
    return cut === alpha ? [alpha, beta] : [cut, -cut / tilt];
  });
  return svg("path", { class: "cw-bend", d: `M${ends.map((end) => at(end).map((value) => value.toFixed(1)).join(" ")).join("L")}` });
}

/** Sums of the first one, two, three parts. */
const running = (parts) => parts.map((_, k) => parts.slice(0, k + 1).reduce((total, part) => total + part, 0));

/** Base score, what preference adds, what popularity adds: each bar starts where the last one ends. */
function waterfall(sums, needed, { low, high }, name) {
  const [width, height] = [340, 40];
  const x = (value) => 6 + ((value - low) / (high - low || 1)) * (width - 12);
  const kinds = ["base", "pref", "pop"];
  const [base, pref, pop] = sums;
  const words = `${name}: base score ${number(base)}, preference ${number(pref - base)}, popularity ${number(pop - pref)}, together ${number(pop)}; place 10 has ${number(needed)}`;
  return drawing({ width, height }, { "aria-label": words },
    svg("path", { class: "cw-frame", d: `M${x(0).toFixed(1)} 2V${height - 2}` }),
    sums.map((sum, k) => svg("path", { class: `cw-part cw-part-${kinds[k]}`, d: `M${x(k ? sums[k - 1] : 0).toFixed(1)} ${8 + 11 * k}H${x(sum).toFixed(1)}` })),
    svg("path", { class: "cw-bend", d: `M${x(needed).toFixed(1)} 0V${height}` }),
    svg("circle", { class: "cw-dot", cx: x(pop).toFixed(1), cy: 30, r: 4.5 }));
}

// The interactive "two scalars": one user, their alpha and beta, the loss that learns them, and the ranks of their test items.
// Runs in Jupyter (anywidget) and on a static page (afm_host.js) alike.
import { h, number, svg } from "../shared/widgets/kit.js";
import { Interactive, button, choice, diamond, framed, key, showing, slider, table } from "../shared/widgets/controls.js";
import { HEADS, PEOPLE, WORLD, analyse, asPython, deviations, final, gridAxis, isoline, levels, lossText, nameOf, partsOf, pointText, rowsOf, study, summary, surface } from "./two_scalars_math.js";

const NAMES = ["items", "counts", "people", "names", "stored", "person", "alpha", "beta", "shift", "view"];
const FARTHEST = 50; // how large a scalar may be
const SHOWN = 5; // of the list

export default showing((model) => new View(model, NAMES));

const tidy = (value) => Number(Math.max(-FARTHEST, Math.min(FARTHEST, value)).toFixed(4));

class View extends Interactive {
  // ---- building, once -------------------------------------------------------------------------------------------

  build() {
    const { parts } = this;
    const { people, stored } = this.follower.state();
    const set = (name) => (value) => this.follower.set({ [name]: value });
    const scalar = (name, text) => slider({ name, text, min: WORLD.window[name][0], max: WORLD.window[name][1], step: 0.05, onset: set(name) });
    parts.person = choice({ name: "person", label: "User", options: people.map((_, k) => [String(k), PEOPLE[k]]), onset: (k) => this.follower.set({ person: Number(k), alpha: 0, beta: 0 }) });
    parts.alpha = scalar("alpha", "α, along the popularity axis");
    parts.beta = scalar("beta", "β, along the preference axis");
    parts.shift = slider({ name: "shift", text: "Move all items along the popularity axis by", min: -2, max: 2, step: 0.25, onset: set("shift") });
    parts.minimum = button("minimum", "Minimum of the DDC loss", () => this.go(this.studied.minimum));
    parts.best = button("best", "Best rank", () => this.go(this.studied.best));
    parts.model = button("model", "The model: 0 and 0", () => this.go([0, 0]));
    const head = {
      look: "cw-flow cw-film",
      title: "Two scalars for one user",
      lead: ["DDC leaves the trained model as it is and learns two numbers for each user. It learns them from one loss and serves another embedding.",
        stored ? " MF on the embedded films, five people, trained beforehand." : ""],
    };
    return framed(head,
      h("div", { class: "cw-controls" },
        h("div", { class: "cw-presets" }, parts.person.box),
        h("div", {}, parts.alpha.box, parts.beta.box),
        h("div", {}, parts.shift.box, h("div", { class: "cw-row cw-buttons cw-below" }, parts.minimum, parts.best, parts.model))),
      h("div", { class: "cw-stage cw-halves" }, this.buildSurface(), this.buildRanks()),
      parts.folds.box);
  }

  buildSurface() {
    const { parts } = this;
    parts.view = choice({ name: "view", label: "Loss", options: [["ddc", "DDC, what is learned"], ["served", "of the embedding that is served"]], onset: (view) => this.follower.set({ view }) });
    parts.lines = svg("g", { "aria-hidden": "true" });
    parts.marks = svg("g", { "aria-hidden": "true" });
    parts.handle = this.buildHandle();
    parts.surface = svg("svg", { class: "cw-look", viewBox: `0 0 ${FRAME.width} ${FRAME.height}`, role: "group", style: `--cw-wide:${FRAME.width}`, onclick: (event) => this.go(this.under(event)) },
      axes(), parts.lines, parts.marks, parts.handle);
    parts.losses = h("p", { class: "cw-note" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "The loss ", h("span", { class: "cw-soft" }, "click, drag the cross, or use the arrow keys")), parts.view.box, parts.surface,
      h("ul", { class: "cw-legend" },
        key("equal loss, thicker where lower", svg("path", { class: "cw-level", "stroke-width": 2, d: "M1 15Q10 0 19 12" })),
        key("now", svg("path", { class: "cw-now", d: "M4 4L16 16M16 4L4 16" })),
        key("the model", svg("circle", { class: "cw-chosen", cx: 10, cy: 10, r: 6 })),
        key("minimum of the DDC loss", svg("path", { class: "cw-item-head", d: diamond(10, 10, 7) })),
        key("best rank", svg("rect", { class: "cw-knob-item", x: 4, y: 4, width: 12, height: 12 })),
        key("right of it the head gains on the tail", svg("path", { class: "cw-bend", d: "M10 1V19" }))),
      parts.losses);
  }

  buildHandle() {
    const drag = (event) => this.onDrag(event);
    return svg("g", {
      class: "cw-handle", tabindex: "0", role: "slider", "aria-label": "The two scalars", "aria-roledescription": "point in the plane", "aria-valuemin": -FARTHEST, "aria-valuemax": FARTHEST,
      onkeydown: (event) => this.onKey(event), onpointerdown: drag, onpointermove: drag, onpointerup: drag, onpointercancel: drag,
    }, svg("circle", { class: "cw-touch", r: 18 }), svg("path", { class: "cw-now", d: "M-7 -7L7 7M7 -7L-7 7" }));
  }

  buildRanks() {
    const { parts } = this;
    parts.bars = h("div", { class: "cw-bars" });
    parts.list = h("ol", { class: "cw-ranking" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "Test items ", h("span", { class: "cw-soft" }, "rank, and what the score is made of")), parts.bars,
      h("ul", { class: "cw-legend" },
        key("base score", svg("path", { class: "cw-part cw-part-base", d: "M1 10H19" })),
        key("β a, preference", svg("path", { class: "cw-part cw-part-pref", d: "M1 10H19" })),
        key("α b, popularity", svg("path", { class: "cw-part cw-part-pop", d: "M1 10H19" })),
        key("score of place 10", svg("path", { class: "cw-bend", d: "M10 1V19" }))),
      h("p", { class: "cw-card-title cw-below" }, "Top of the list ", h("span", { class: "cw-soft" }, "with counts")), parts.list, (parts.popular = h("p", { class: "cw-note" })), parts.summary);
  }

  // ---- what the reader does ----------------------------------------------------------------------------------------

  go([alpha, beta]) {
    this.follower.set({ alpha: tidy(alpha), beta: tidy(beta) });
  }

  under(event) {
    const box = this.parts.surface.getBoundingClientRect();
    const unit = FRAME.width / box.width;
    return pointAt((event.clientX - box.left) * unit, (event.clientY - box.top) * unit);
  }

  onKey(event) {
    const by = event.shiftKey ? 0.01 : 0.1;
    const change = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] }[event.key];
    if (!change) return;
    event.preventDefault();
    const { alpha, beta } = this.follower.state();
    this.go([alpha + change[0], beta + change[1]]);
  }

  onDrag(event) {
    if (event.type === "pointerdown" && event.button === 0) {
      this.parts.handle.setPointerCapture(event.pointerId);
      this.parts.handle.focus();
      this.dragged = true;
      event.preventDefault();
    } else if (event.type === "pointermove" && this.dragged) {
      this.go(this.under(event));
    } else if (event.type !== "pointermove") {
      this.dragged = false;
    }
  }

  // ---- showing -----------------------------------------------------------------------------------------------------

  /** What belongs to the user and the place of the items: anew only if one of them changes. */
  prepare(state) {
    const name = JSON.stringify([state.people[state.person], state.shift, state.items, state.counts]);
    if (this.prepared !== name) {
      this.studied = study(state);
      this.surfaces = {};
    }
    this.surfaces[state.view] ??= surface(this.studied.user, state.view);
    if (this.prepared !== name || this.drawn !== state.view) this.drawSurface(state.view);
    [this.prepared, this.drawn] = [name, state.view];
  }

  refresh() {
    const state = this.follower.state();
    this.prepare(state);
    this.found = analyse(state, this.studied);
    this.story = summary(state, this.found);
    this.showControls(state);
    this.showSurface(state);
    this.showBars(state);
    this.showList(state);
    this.showTable();
    this.parts.folds.code.textContent = asPython(state);
    this.announce();
  }

  showControls({ person, alpha, beta, shift, view }) {
    const { parts } = this;
    parts.person.show(String(person));
    parts.alpha.show(alpha, number(alpha));
    parts.beta.show(beta, number(beta));
    parts.shift.show(shift, deviations(shift));
    parts.view.show(view);
    parts.minimum.disabled = !this.studied.minimum;
  }

  drawSurface(view) {
    const { parts, studied } = this;
    const grid = this.surfaces[view];
    const place = ([column, row]) => at([gridAxis("alpha")[0] + column * STEP.alpha, gridAxis("beta")[0] + row * STEP.beta]).map((value) => value.toFixed(1)).join(" ");
    parts.lines.replaceChildren(...levels(grid).map((level, k) => svg("path", { class: "cw-level", "stroke-width": (2.8 - 0.25 * k).toFixed(2), d: isoline(grid, level).map(([from, to]) => `M${place(from)}L${place(to)}`).join("") })));
    const mark = (point, draw) => (point && inside(point) ? draw(...at(point)) : null);
    parts.marks.replaceChildren(...[
      evenLine(studied.user.tilt),
      mark([0, 0], (x, y) => svg("circle", { class: "cw-chosen", cx: x, cy: y, r: 7 })),
      mark(studied.best, (x, y) => svg("rect", { class: "cw-knob-item", x: x - 6, y: y - 6, width: 12, height: 12 })),
      mark(studied.minimum, (x, y) => svg("path", { class: "cw-item-head cw-plain", d: diamond(x, y, 9) })),
    ].filter(Boolean));
  }

  showSurface({ alpha, beta, view }) {
    const { parts, found } = this;
    const { minimum } = this.studied;
    const [x, y] = at([Math.max(ALPHA[0], Math.min(ALPHA[1], alpha)), Math.max(BETA[0], Math.min(BETA[1], beta))]);
    parts.handle.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    parts.handle.setAttribute("aria-valuenow", alpha.toFixed(2));
    parts.handle.setAttribute("aria-valuetext", pointText([alpha, beta]));
    parts.surface.setAttribute("aria-label", `${view === "ddc" ? "The DDC loss" : "The loss of the embedding that is served"} over α and β. ${this.story}`);
    const where = !minimum ? "The DDC loss has no minimum: it falls for ever." : inside(minimum) ? "" : `The minimum lies outside the picture, at ${pointText(minimum)}.`;
    parts.losses.textContent = `DDC loss ${lossText(found.losses[0])}, of the embedding that is served ${lossText(found.losses[1])} (the model: ${lossText(found.lossOfModel)}). ${where}`;
  }

  showBars(state) {
    const { found, parts } = this;
    const { user } = found;
    const needed = final(user, state.alpha, state.beta, found.list.slice(-1))[0];
    const steps = user.test.map((item) => running(partsOf(user, state, item)));
    const all = [needed, ...steps.flat()];
    const scaleOf = { low: Math.min(0, ...all), high: Math.max(0, ...all) };
    parts.bars.replaceChildren(...user.test.map((item, k) => {
      const gain = found.ranksOfModel[k] - found.ranks[k];
      return h("div", { class: "cw-bar" },
        h("p", { class: "cw-bar-name" }, h("strong", {}, nameOf(state, item)), ` (count ${user.counts[item]}): rank ${found.ranksOfModel[k]} → ${found.ranks[k]} `,
          h("span", { class: "cw-rise" }, gain > 0 ? `▲${gain}` : gain < 0 ? `▼${-gain}` : "")),
        waterfall(steps[k], needed, scaleOf, nameOf(state, item)));
    }));
  }

  showList(state) {
    const { found, parts } = this;
    const { user } = found;
    parts.list.replaceChildren(...found.list.slice(0, SHOWN).map((item) => h("li", {}, h("span", {}, nameOf(state, item)), h("span", { class: "cw-value" }, String(user.counts[item])),
      user.test.includes(item) ? h("span", { class: "cw-rise" }, "✓ test item") : null)));
    parts.popular.textContent = `Mean count of the ten items shown: ${number(found.popular[0])} with the model, ${number(found.popular[1])} now.`;
  }

  showTable() {
    const { data, table: holder } = this.parts.folds;
    if (data.open) holder.replaceChildren(table(HEADS, rowsOf(this.follower.state(), this.found), "The test items, and the ten items shown."));
  }
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 400, height: 400, left: 38, right: 10, top: 10, bottom: 40 };
const { alpha: ALPHA, beta: BETA } = WORLD.window;
const STEP = { alpha: (ALPHA[1] - ALPHA[0]) / (WORLD.points - 1), beta: (BETA[1] - BETA[0]) / (WORLD.points - 1) };
const [WIDE, HIGH] = [FRAME.width - FRAME.left - FRAME.right, FRAME.height - FRAME.top - FRAME.bottom];

const at = ([alpha, beta]) => [FRAME.left + ((alpha - ALPHA[0]) / (ALPHA[1] - ALPHA[0])) * WIDE, FRAME.top + (1 - (beta - BETA[0]) / (BETA[1] - BETA[0])) * HIGH];

/** The scalars at a place of the picture, within the window. */
function pointAt(x, y) {
  const part = (value) => Math.max(0, Math.min(1, value));
  return [ALPHA[0] + part((x - FRAME.left) / WIDE) * (ALPHA[1] - ALPHA[0]), BETA[0] + part(1 - (y - FRAME.top) / HIGH) * (BETA[1] - BETA[0])];
}

const inside = ([alpha, beta]) => alpha >= ALPHA[0] && alpha <= ALPHA[1] && beta >= BETA[0] && beta <= BETA[1];

function axes() {
  const { left, top, width, height } = FRAME;
  const whole = ([low, high]) => Array.from({ length: high - low + 1 }, (_, k) => low + k);
  return svg("g", { "aria-hidden": "true" },
    svg("rect", { class: "cw-half", x: left, y: top, width: WIDE, height: HIGH }),
    whole(ALPHA).map((value) => svg("text", { class: "cw-axis-text", x: at([value, 0])[0], y: height - 24 }, number(value))),
    whole(BETA).map((value) => svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: at([0, value])[1] + 4 }, number(value))),
    svg("text", { class: "cw-axis-text", x: (left + width) / 2, y: height - 6 }, "α"),
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
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words, style: `--cw-wide:${width}` },
    svg("path", { class: "cw-frame", d: `M${x(0).toFixed(1)} 2V${height - 2}` }),
    sums.map((sum, k) => svg("path", { class: `cw-part cw-part-${kinds[k]}`, d: `M${x(k ? sums[k - 1] : 0).toFixed(1)} ${8 + 11 * k}H${x(sum).toFixed(1)}` })),
    svg("path", { class: "cw-bend", d: `M${x(needed).toFixed(1)} 0V${height}` }),
    svg("circle", { class: "cw-dot", cx: x(pop).toFixed(1), cy: 30, r: 4.5 }));
}

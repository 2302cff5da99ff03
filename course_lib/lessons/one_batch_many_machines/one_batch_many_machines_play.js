// The interactive of the chapter "One batch on many machines": move a point and see the sum of squared distances.
import { h, number, svg } from "../shared/widgets/kit.js";
import { Interactive, framed, presets, showing, slider, table } from "../shared/widgets/controls.js";

const NUMBERS = [1, 2, 6];
const PRESETS = { mean: { text: "the mean", set: { t: 3 } }, median: { text: "the median", set: { t: 2 } } };

export default showing((model) => new View(model, ["t"]));

class View extends Interactive {
  build() {
    const { parts } = this;
    parts.t = slider({ name: "t", text: "The point t", min: 0, max: 8, step: 0.5, onset: (t) => this.follower.set({ t }) });
    parts.presets = presets(PRESETS, (name) => this.follower.set(PRESETS[name].set));
    parts.picture = h("div", {});
    return framed({ look: "cw-flow", title: "One batch on many machines", lead: ["Move the point until the sum of squared distances is least."] },
      h("div", { class: "cw-controls" }, parts.presets.box, parts.t.box), parts.picture, parts.summary, parts.folds.box);
  }

  refresh() {
    const { parts } = this;
    const { t } = this.follower.state();
    const total = squares(t).reduce((a, b) => a + b, 0);
    this.story = `The point t is at ${number(t)}. The sum of its squared distances to 1, 2 and 6 is ${number(total)}. ` +
      "The least sum, 14, is at the mean of the three numbers, which is 3.";
    parts.t.show(t, number(t));
    parts.presets.show({ t });
    parts.picture.replaceChildren(picture(t, this.story));
    this.showTable();
    parts.folds.code.textContent = `sum((x - ${t}) ** 2 for x in (1, 2, 6))`;
    this.announce?.();
  }

  showTable() {
    const { data, table: holder } = this.parts.folds;
    const rows = NUMBERS.map((x, k) => [number(x), number(squares(this.follower.state().t)[k])]);
    if (data.open) holder.replaceChildren(table(["number", "squared distance"], rows, "What the sum is made of."));
  }
}

const squares = (t) => NUMBERS.map((x) => (x - t) ** 2);

const picture = (t, words) => svg("svg", { viewBox: "0 0 400 60", role: "img", "aria-label": words, style: "--cw-wide:400" },
  svg("path", { class: "cw-frame", d: "M20 30H380" }),
  NUMBERS.map((x) => svg("circle", { class: "cw-dot", cx: 20 + 45 * x, cy: 30, r: 5 })),
  svg("path", { class: "cw-wish", d: `M${20 + 45 * t} 10V50` }));

// The quiz of a chapter: choose with mouse or keyboard, check, and read why each choice is right or wrong.
// Nothing is stored or sent.
import { list, h, uniqueId } from "./kit.js";
import { Follower, button, framed, showing } from "./controls.js";

const LETTERS = "ABCDEFGH";
const HINTS = { one: "Choose one answer.", several: "Choose all answers that are right." };

/** Nested pieces of text as made by course_lib.lessons.shared.quiz.pieces: strings and [tag, pieces]. */
const show = (pieces) => pieces.map((piece) => (typeof piece === "string" ? piece : h(piece[0], {}, show(piece[1]))));

const plural = (count, one, several) => `${count} ${count === 1 ? one : several}`;

export default showing(["questions", "title", "chosen"], class {
  constructor(model, names) {
    this.follower = new Follower(model, names, () => this.refresh());
    const { questions, title } = this.follower.state();
    this.questions = questions.map((question, place) => new QuestionView(question, place, this));
    this.progress = h("p", { class: "cw-summary", "aria-live": "polite" });
    const lead = `${plural(questions.length, "question", "questions")}. A wrong answer is explained, and you may try again. Nothing is stored or sent.`;
    this.root = framed({ look: "cw-quiz", title: `Quiz: ${title}`, lead },
      this.questions.map((question) => question.root),
      h("div", { class: "cw-row cw-quiz-end" }, this.progress, button("again", "Start over", () => this.startAgain())),
      h("div", { class: "cw-on-paper" }, h("p", { class: "cw-card-title" }, "Answers"), this.questions.map((question) => question.key())));
    this.tell();
    this.refresh();
  }

  close() {
    this.follower.close();
  }

  /** Takes over what the model says was chosen. */
  refresh() {
    const { chosen } = this.follower.state();
    for (const question of this.questions) question.choose(chosen?.[question.id] ?? []);
  }

  /** Puts what the reader chose into the model. */
  keep() {
    const given = this.questions.map((question) => [question.id, question.chosen()]).filter(([, answers]) => answers.length);
    this.follower.set({ chosen: Object.fromEntries(given) });
  }

  tell() {
    const total = this.questions.length;
    const right = this.questions.filter((question) => question.result === "right");
    const first = right.filter((question) => question.tries === 1).length;
    const text = right.length < total ? `${right.length} of ${total} answered right.` : `All ${total} answered right, ${first} of them at the first try.`;
    if (this.progress.textContent !== text) this.progress.textContent = text; // said once, not after every check
  }

  startAgain() {
    for (const question of this.questions) question.forget();
    this.keep();
    this.tell();
    this.questions[0].inputs[0].focus();
  }
});

class QuestionView {
  constructor(question, place, quiz) {
    Object.assign(this, { ...question, place, quiz, result: "", tries: 0 });
    this.root = this.build();
  }

  build() {
    const group = uniqueId("question");
    const type = this.kind === "one" ? "radio" : "checkbox";
    this.inputs = this.answers.map((answer) => h("input", { type, name: group, value: answer.id, onchange: () => this.change() }));
    this.marks = this.answers.map(() => h("span", { class: "cw-mark", "aria-hidden": "true" }));
    this.labels = this.answers.map((answer, at) =>
      h("label", { class: "cw-answer" }, this.inputs[at], h("span", { class: "cw-letter" }, `${LETTERS[at]}. `), h("span", { class: "cw-answer-text" }, show(answer.text)), this.marks[at]));
    this.feedback = h("div", { class: "cw-feedback", "aria-live": "polite" });
    const number = `Question ${this.place + 1}`;
    return h("form", { class: "cw-card cw-question", "data-question": this.id, onsubmit: (event) => { event.preventDefault(); this.check(); } },
      h("fieldset", {},
        h("legend", {}, h("span", { class: "cw-number-of" }, `${number}. `), h("span", {}, show(this.ask)), h("span", { class: "cw-hint" }, ` ${HINTS[this.kind]}`)),
        h("div", { class: "cw-answers" }, this.labels)),
      h("div", { class: "cw-row cw-buttons" },
        h("button", { type: "submit", class: "cw-button", "data-action": "check", "aria-label": `Check question ${this.place + 1}` }, "Check"),
        h("button", { type: "button", class: "cw-button cw-quiet", "data-action": "show", "aria-label": `Show the answer to question ${this.place + 1}`, onclick: () => this.showAnswer() }, "Show the answer")),
      this.feedback);
  }

  /** What paper shows at the end of the quiz. */
  key() {
    return h("div", {}, h("p", { class: "cw-small-title" }, `Question ${this.place + 1}`), this.reasons(this.answers));
  }

  chosen() {
    return this.inputs.filter((input) => input.checked).map((input) => input.value);
  }

  choose(answers) {
    if (String(answers) === String(this.chosen())) return;
    for (const input of this.inputs) input.checked = answers.includes(input.value);
    this.clear();
    this.quiz.tell?.();
  }

  change() {
    this.clear();
    this.quiz.keep();
    this.quiz.tell();
  }

  forget() {
    for (const input of this.inputs) input.checked = false;
    this.tries = 0;
    this.clear();
  }

  /** Takes the verdict away: it spoke of another choice. */
  clear() {
    this.settle("", []);
    this.feedback.replaceChildren();
  }

  settle(result, judged) {
    this.result = result;
    this.root.dataset.result = result;
    this.answers.forEach((answer, at) => {
      const verdict = judged.includes(answer) ? (answer.right ? "right" : "wrong") : "";
      this.labels[at].dataset.verdict = verdict;
      this.marks[at].textContent = { right: "✓", wrong: "✗", "": "" }[verdict];
    });
  }

  check() {
    if (this.result === "right") return; // it has been said, and is no other try
    const chosen = this.answers.filter((answer, at) => this.inputs[at].checked);
    if (!chosen.length) {
      this.settle("", []);
      return void this.feedback.replaceChildren(h("p", { class: "cw-verdict" }, "Choose an answer first."));
    }
    this.tries += 1;
    const missing = this.answers.filter((answer) => answer.right && !chosen.includes(answer)).length;
    const wrong = chosen.filter((answer) => !answer.right).length;
    const right = !missing && !wrong;
    this.settle(right ? "right" : "wrong", chosen);
    const others = this.answers.filter((answer) => !chosen.includes(answer));
    this.feedback.replaceChildren(
      h("p", { class: "cw-verdict" }, right ? "✓ Right." : `✗ Not yet. ${this.advice(chosen.length - wrong, wrong, missing)}`),
      this.reasons(chosen),
      ...(right && others.length ? [h("details", {}, h("summary", {}, others.length > 1 ? "Why not the others?" : "Why not the other?"), this.reasons(others))] : []));
    this.quiz.tell();
  }

  advice(right, wrong, missing) {
    if (this.kind === "one") return "Read why, and choose again.";
    const parts = [];
    if (right) parts.push(plural(right, "choice is right", "choices are right"));
    if (wrong) parts.push(plural(wrong, "is wrong", "are wrong"));
    if (missing) parts.push(plural(missing, "right answer is missing", "right answers are missing"));
    return `${parts.join(", ")}.`;
  }

  reasons(answers) {
    return h("ul", { class: "cw-reasons" }, answers.map((answer) =>
      h("li", { "data-verdict": answer.right ? "right" : "wrong" },
        h("strong", {}, `${LETTERS[this.answers.indexOf(answer)]} is ${answer.right ? "right" : "wrong"}. `),
        answer.misconception.length ? ["The misconception: ", h("em", {}, show(answer.misconception), ". ")] : [],
        show(answer.why))));
  }

  showAnswer() {
    this.tries += 1;
    this.settle("shown", this.answers);
    const right = this.answers.filter((answer) => answer.right).map((answer) => LETTERS[this.answers.indexOf(answer)]);
    this.feedback.replaceChildren(h("p", { class: "cw-verdict" }, `${list(right, right.length)} ${right.length > 1 ? "are" : "is"} right.`), this.reasons(this.answers));
    this.quiz.tell();
  }
}

// Cells that run in the page: change a line, press Run. And the chapter's tasks, where it has some, behind a button.
import { ENDS, about, element, load, lost, remove, run } from "./python_engine.js";

const CELL = { "python.wasm.gz": null, "library.zip": "python315.zip" }; // what is loaded, and under which name it lies
const FAILED = [ // what Python says, and what a reader has to know of it
  [/ModuleNotFoundError/, "That package is not here: NumPy and Python's own library are."],
  [/getaddrinfo|start new thread|wasi does not support|no attribute '(_ssock|pipe)'|EOF when reading/, "Here Python has no network, no threads, no second process and no input()."],
  [/MemoryError/, "This page has no more memory for it."],
];
let cells = 0;

const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

/** An editor of code, its buttons and what it prints.
 *
 * parts: as CELL; code(): at first; message(value): what is run; first: the words on the button; opened(), closed():
 * told when the editor comes, and when its output goes; said(how): the words of how it ended, or nothing; removable:
 * whether Python may be removed here.
 */
export function runnable({ code, first, parts = CELL, message = (value) => ({ code: value }), label = "The code of this cell", opened = () => {}, closed = () => {}, said = () => null, removable = true }) {
  const number = (cells += 1);
  const hint = element("span", { id: `run-here-${number}`, hidden: "" }, "Tab indents; Escape, then Tab, leaves. Ctrl+Enter runs.");
  const editor = element("textarea", { "aria-label": label, "aria-describedby": hint.id, spellcheck: "false", autocapitalize: "off", rows: code().split("\n").length + 1 });
  const output = element("pre", { class: "run-here-output", role: "log", "aria-label": "What it prints", tabindex: "0" });
  const status = element("output", { "aria-live": "polite" }, lost || "Nothing leaves your computer.");
  const [start, stop, reset, forget] = [first, "Stop", "Reset", "Remove Python"].map((text) => element("button", { type: "button" }, text));
  const tools = element("div", { class: "run-here" }, start, stop, reset, forget, status, hint);
  let running = null, left = false;
  stop.hidden = reset.hidden = forget.hidden = true;

  function open() {
    if (editor.isConnected) return;
    editor.value = code();
    opened(editor);
    hint.hidden = reset.hidden = false;
    forget.hidden = !removable;
    start.textContent = "Run";
  }
  const show = (text) => {
    output.append(text);
    if (output.textContent.length > 1000) output.ariaLive = "off"; // a screen reader would read for minutes
  };
  async function begin() {
    open();
    start.disabled = true;
    try {
      const got = await load(Object.keys(parts), about.megabytes, (text) => (status.textContent = text));
      const zips = Object.fromEntries(Object.entries(parts).flatMap(([part, name]) => (name ? [[name, got[part]]] : [])));
      status.textContent = "Running";
      output.textContent = "";
      output.ariaLive = "polite";
      tools.after(output);
      stop.hidden = false;
      running = run({ module: got["python.wasm.gz"], zips, ...message(editor.value) }, show, 60);
      const how = await running.ended;
      const failed = FAILED.find(([words]) => words.test(output.textContent))?.[1] ?? "It ended with an error.";
      status.textContent = ENDS[how.ended] ?? said(how) ?? (how.status ? failed : "Done.");
    } catch (error) {
      status.textContent = `Python could not be loaded: ${error.message}`;
    }
    start.disabled = false;
    stop.hidden = true;
  }
  start.addEventListener("click", begin);
  stop.addEventListener("click", () => running.stop());
  reset.addEventListener("click", () => {
    running?.stop();
    editor.value = code();
    editor.dispatchEvent(new Event("input"));
    output.remove();
    closed();
    editor.focus();
  });
  forget.addEventListener("click", async () => {
    await remove();
    status.textContent = "Python is no longer kept in this browser.";
  });
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!start.disabled) begin();
    } else if (event.key === "Tab" && !event.shiftKey && !left) {
      event.preventDefault();
      editor.setRangeText("    ", editor.selectionStart, editor.selectionEnd, "end");
      editor.dispatchEvent(new Event("input"));
    }
    left = event.key === "Escape" || (left && event.key === "Shift");
  });
  return { tools, editor, open };
}

function prepare(cell) {
  const input = cell.querySelector(".cell_input"), stored = cell.querySelector(".cell_output");
  const show = (whether) => { if (stored) stored.hidden = !whether; };
  const { tools } = runnable({
    code: () => input.querySelector("pre").textContent.trimEnd(),
    first: `Run Python here: ${about.megabytes} MB, once, from this site`,
    opened: (editor) => { input.hidden = true; input.after(editor); show(false); },
    closed: () => show(true),
  });
  input.after(tools);
}

/** The button that brings a chapter's tasks to the head of its exercises. */
function offer(section) {
  const start = element("button", { type: "button" }, `Do ${plural(about.tasks, "task")} here, with the checks of the class: ${about.minutes} minutes`);
  const status = element("output", { "aria-live": "polite" }, `Python: ${about.megabytes} MB, once, from this site. Nothing leaves your computer.`);
  const box = element("div", { class: "tasks-here" }, element("div", { class: "run-here" }, start, status));
  start.addEventListener("click", async () => {
    start.disabled = true;
    try {
      const { show } = await import("./tasks_here.js");
      await show(box, about.page);
    } catch (error) {
      start.disabled = false;
      status.textContent = `The tasks could not be loaded: ${error.message}`;
    }
  });
  section.querySelector("h2").after(box);
}

document.querySelectorAll("div.cell.tag_run-here").forEach(prepare);
const same = async (fold) => {
  if (fold.matches?.(".cw-python[open]:not(:has(.run-here))")) (await import("./same_here.js")).add(fold);
};
document.querySelectorAll(".cw-python").forEach(same);
document.addEventListener("toggle", ({ target }) => same(target), true); // of an interactive, whenever it comes
if (about.tasks) document.querySelectorAll("section#exercises").forEach(offer);

// Cells that run in the page: change a line, press Run.
import { ENDS, element, load, megabytes, remove, run } from "./python_engine.js";

function prepare(cell, number) {
  const input = cell.querySelector(".cell_input"), stored = cell.querySelector(".cell_output");
  const code = input.querySelector("pre").textContent.trimEnd();
  const hint = element("span", { id: `run-here-${number}`, hidden: "" }, "Tab indents; Escape, then Tab, leaves.");
  const editor = element("textarea", { "aria-label": "The code of this cell", "aria-describedby": hint.id, spellcheck: "false", autocapitalize: "off", rows: code.split("\n").length + 1 });
  const output = element("pre", { class: "run-here-output", "aria-label": "What it prints", tabindex: "0" });
  const status = element("output", { "aria-live": "polite" }, "Nothing leaves your computer.");
  const [start, stop, reset, forget] = [`Run Python here: ${megabytes} MB, once, from this site`, "Stop", "Reset", "Remove Python"].map((text) => element("button", { type: "button" }, text));
  let running = null, left = false;

  function open() {
    if (editor.isConnected) return;
    input.hidden = true;
    input.after(editor);
    editor.value = code;
    hint.hidden = reset.hidden = forget.hidden = false;
    start.textContent = "Run";
  }
  async function begin() {
    open();
    start.disabled = true;
    try {
      const { "python.wasm.gz": module, "library.zip": library } = await load(["python.wasm.gz", "library.zip"], megabytes, (text) => (status.textContent = text));
      status.textContent = "Running";
      output.textContent = "";
      if (stored) stored.hidden = true;
      tools.after(output);
      stop.hidden = false;
      running = run({ module, zips: { "python315.zip": library }, code: editor.value }, (text) => output.append(text), 60);
      const { ended, status: failed } = await running.ended;
      status.textContent = ENDS[ended] ?? (failed ? "It ended with an error." : "Done.");
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
    editor.value = code;
    output.remove();
    if (stored) stored.hidden = false;
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
    }
    left = event.key === "Escape" || (left && event.key === "Shift");
  });
  const tools = element("div", { class: "run-here" }, start, stop, reset, forget, status, hint);
  stop.hidden = reset.hidden = forget.hidden = true;
  input.after(tools);
}

document.querySelectorAll("div.cell.tag_run-here").forEach(prepare);

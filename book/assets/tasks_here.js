// A chapter's tasks, done in the page: each answer is run with the check that the class's notebook has under it. What is
// written stays in this browser; a warm-up can be taken along as the notebook that a class takes in.
import { about, element, load } from "./python_engine.js";
import { runnable } from "./run_here.js";

const PARTS = { "python.wasm.gz": null, "library.zip": "python315.zip", "lessons.zip": "lessons.zip" };

/** What runs: the notebook's first cell, the answer as a file of its own, the check; of a check that refuses, its words. */
const code = (setup, check) => `
import sys, traceback
sys.path.insert(0, "/usr/local/lib/lessons.zip")
def told(kind, error, trace):  # from the answer on
    while trace.tb_next and trace.tb_frame.f_code.co_filename != "/work/answer.py":
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)
sys.excepthook = told
${setup}
with open("/work/answer.py") as file:
    exec(compile(file.read(), "/work/answer.py", "exec"))
try:
    ${check.replaceAll("\n", "\n    ")}
except AssertionError as refused:
    if type(refused).__name__ != "NotYet":
        raise
    print(refused)
    sys.exit(3)
`;
const ENDED = { 0: "Passed.", 3: "Not yet." };

/** What was written under a name, while this browser keeps it; null where nothing was. */
const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const keep = (name, text) => { try { localStorage.setItem(name, text); } catch { /* full, or refused */ } };
const html = (text) => document.createRange().createContextualFragment(text);

/** An answer: a cell that runs with its check, or text that a person reads. */
function answer(name, { code: stub, text }, check, setup) {
  const box = element("div", { class: "cell tag_run-here" }), follow = (editor) => {
    editor.value = kept(name) ?? stub;
    editor.addEventListener("input", () => keep(name, editor.value));
    box.prepend(editor);
    return editor;
  };
  if (text) return { box, editor: follow(element("textarea", { "aria-label": "Your text", rows: 8 })) };
  const { tools, editor, open } = runnable({
    code: () => stub, parts: PARTS, opened: follow, label: "Your answer", removable: false,
    message: (value) => ({ files: { "answer.py": new TextEncoder().encode(value) }, code: code(setup, check) }),
    said: ({ status }) => ENDED[status],
  });
  box.append(tools);
  open();
  return { box, editor };
}

/** The notebook with the answers in it. */
function filled(notebook, editors) {
  const made = structuredClone(notebook);
  for (const cell of made.cells) {
    const editor = editors.get(cell.metadata.nbgrader?.grade_id);
    if (editor) cell.source = editor.value;
  }
  return new Blob([JSON.stringify(made, null, 1)], { type: "application/x-ipynb+json" });
}

/** Puts the tasks of a page into a box. */
export async function show(box, page) {
  const got = await fetch(new URL(`python/tasks/${page}.json`, import.meta.url));
  if (!got.ok) throw new Error(`${got.url} answers ${got.status}`);
  const { name, says, setup, tasks, notebook } = await got.json();
  load(Object.keys(PARTS), about.megabytes, () => {}).catch(() => {}); // it comes while the first task is read
  const editors = new Map(), shown = element("div", {}, html(says));
  for (const task of tasks) {
    shown.append(html(task.says));
    task.answers.forEach((one, place) => {
      const made = answer(`two-tower-course.${name}.${one.name}`, one, task.checks[place], setup);
      editors.set(one.name, made.editor);
      shown.append(made.box);
    });
  }
  if (notebook) {
    const take = element("button", { type: "button" }, "Download as the notebook that a class takes in");
    take.addEventListener("click", () => {
      const link = element("a", { href: URL.createObjectURL(filled(notebook, editors)), download: `${name}.ipynb` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
    shown.append(element("div", { class: "run-here" }, take));
  }
  box.replaceChildren(shown);
  await globalThis.MathJax?.startup?.promise;
  await globalThis.MathJax?.typesetPromise?.([shown]);
  shown.querySelector("h3").tabIndex = -1;
  shown.querySelector("h3").focus();
}

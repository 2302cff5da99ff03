// "The same in Python" under an interactive, run in the page where it needs no torch.
import { INDICES, about, element } from "./python_engine.js";
import { runnable } from "./run_here.js";

const PARTS = { "python.wasm.gz": null, "library.zip": "python315.zip", "audit.zip": "audit.zip", "lessons.zip": "lessons.zip", "traitlets.zip": "traitlets.zip" };
const LIGHT = ["ChosenNeighbours", "CosineMotion", "Folding", "GramianTracker", "InBatchWeights", "NormGrowth", "OneBatchManyMachines", "OverSeeds", "PopularityAxis", "ShardedStep", "StretchedAxes", "TwoMatrices"];

/** The course's own classes, whose pictures the page shows already: here an interactive is its numbers. */
const prelude = `
import sys, types, zipfile
zipfile.ZipFile("/usr/local/lib/lessons.zip").extractall("/tmp/lib")  # unpacked: stored numbers and scripts are read as files
sys.path[:0] = ["/tmp/lib", "/usr/local/lib/audit.zip", "/usr/local/lib/traitlets.zip"]
import traitlets
sys.modules["anywidget"] = types.ModuleType("anywidget")
sys.modules["anywidget"].AnyWidget = traitlets.HasTraits
${INDICES}
with open("/work/cell.py") as file:
    exec(compile(file.read(), "/work/cell.py", "exec"))
`;

/** Puts what runs it under an open fold. */
export function add(fold) {
  const shown = fold.querySelector(".cw-code");
  if (!LIGHT.some((name) => shown.textContent.includes(`${name}(`))) {
    fold.append(element("p", { class: "run-here" }, "This needs torch or stored results: the page's notebook runs it, on Binder, on Colab or on your computer."));
    return;
  }
  const { tools } = runnable({
    code: () => shown.textContent, parts: PARTS, label: "The same in Python, to change",
    first: `Run Python here: ${about.auditMegabytes} MB, once, from this site`,
    message: (value) => ({ files: { "cell.py": new TextEncoder().encode(value) }, code: prelude }),
    opened: (editor) => { shown.hidden = true; shown.after(editor); },
  });
  fold.append(tools);
}

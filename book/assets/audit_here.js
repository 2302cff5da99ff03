// The audit in the page: choose files, get the report that the command writes. The files stay in this browser.
import { ENDS, INDICES, about, element, load, lost, run } from "./python_engine.js";

const PARTS = ["python.wasm.gz", "library.zip", "audit.zip", "course.zip"];
const FILES = { items: "Item table", users: "User table", pairs: "Pairs (user, item)", "held-out": "Held-out pairs" };
const IDS = { "item-ids": "Items' ids, a line each, if their table has none", "user-ids": "Users' ids, the same" };
const NEEDED = ["items"];

/** The last line of what the command said, in the words of the page: what it lacks nobody can install here. */
const last = (said) => said.replace(/[^\r\n]*\r/g, "").trim().split("\n").at(-1).replaceAll("/work/", "")
  .replace(/, is not installed; expected .*/, ", is not in the page: save the file as .npy or .csv, or audit it with the command on your computer")
  .replace(/.*MemoryError.*/, "These tables need more memory than the page has: audit a random part of their rows, or use the command on your computer.");

/** What runs. */
const code = (given, sample) => `
import sys, zipfile
for name in ("audit", "course"):  # unpacked: fonts and tables are read as files
    zipfile.ZipFile(f"/usr/local/lib/{name}.zip").extractall("/tmp/lib")
sys.path.insert(0, "/tmp/lib")
${INDICES}
${sample ? SAMPLE : ""}from course_lib.audit.command import cli
sys.exit(cli([${given.map((one) => JSON.stringify(one)).join(", ")}]))
`;
const SAMPLE = `from course_lib.audit import example
for name, table in zip(("items", "users"), example.tables(0)):
    np.save(f"/tmp/{name}.npy", table)
for name, pairs in zip(("pairs", "held-out"), example.pairs()):
    np.savetxt(f"/tmp/{name}.csv", np.stack([pairs.users, pairs.items], 1), "%d", ",", header="user,item", comments="")
`;
const OF_THE_SAMPLE = Object.keys(FILES).flatMap((name) => [`--${name}`, `/tmp/${name}.${/s$/.test(name) && name !== "pairs" ? "npy" : "csv"}`]);

function prepare(box) {
  const inputs = Object.fromEntries(Object.keys({ ...FILES, ...IDS }).map((name) => [name, element("input", { type: "file", name })]));
  const options = element("input", { name: "options", spellcheck: "false", autocapitalize: "off", placeholder: "--drop-zero-rows --columns item=sku" });
  const labels = (of) => Object.entries(of).map(([name, text]) => element("label", {}, text, inputs[name]));
  const more = element("details", {}, element("summary", {}, "Ids, and options of the command"), element("div", { class: "audit-files" }, ...labels(IDS), element("label", {}, "Options", options)));
  const [start, sample, cancel] = [`Audit here: ${about.auditMegabytes} MB, once, from this site`, "Try it with a sample", "Cancel"].map((text) => element("button", { type: "button" }, text));
  const status = element("output", { "aria-live": "polite" }, lost || "Your files stay in this browser.");
  const tools = element("div", { class: "run-here" }, start, sample, cancel, status);
  const shown = element("div", {});
  let running = null;

  async function begin(files, given, isSample = false) {
    start.disabled = sample.disabled = true;
    shown.replaceChildren();
    let said = "";
    try {
      const got = await load(PARTS, about.auditMegabytes, (text) => (status.textContent = text));
      const { "python.wasm.gz": module, "library.zip": library, "audit.zip": audit, "course.zip": course } = got;
      const zips = { "python315.zip": library, "audit.zip": audit, "course.zip": course };
      status.textContent = "Reading";
      cancel.hidden = false;
      const told = (text) => {
        said += text;
        const [, what, done, all] = [...said.matchAll(/\r\s*([\w ]+):\s+\d+%[^\r]*?(\d+)\/(\d+)/g)].at(-1) ?? [];
        if (what) status.textContent = `${what}: ${done} of ${all}`;
      };
      const arguments_ = [...given, "--out", "/work/report.html", "--json", "/work/report.json"];
      running = run({ module, zips, files, code: code(arguments_, isSample) }, told, 900);
      const { ended, made = {} } = await running.ended;
      if (made["report.html"]) show(made);
      status.textContent = ENDS[ended] ?? (made["report.html"] ? "Done." : last(said));
    } catch (error) {
      status.textContent = `Python could not be loaded: ${error.message}`;
    }
    start.disabled = sample.disabled = false;
    cancel.hidden = true;
  }
  function show(made) {
    const links = Object.entries(made).map(([name, bytes]) => element("a", { href: URL.createObjectURL(new Blob([bytes], { type: name.endsWith("json") ? "application/json" : "text/html" })), download: name }, name));
    const frame = element("iframe", { title: "The report", sandbox: "allow-popups", srcdoc: new TextDecoder().decode(made["report.html"]) });
    shown.replaceChildren(element("p", {}, "Keep it: ", ...links.flatMap((link) => [link, " "])), frame);
  }
  start.addEventListener("click", async () => {
    const chosen = Object.entries(inputs).filter(([, input]) => input.files.length);
    const lacking = NEEDED.find((name) => !inputs[name].files.length);
    if (lacking) {
      status.textContent = `Choose a file for: ${FILES[lacking]}.`;
      inputs[lacking].focus();
      return;
    }
    const files = {}, given = [];
    for (const [name, input] of chosen) {
      const [file] = input.files, place = `${name}${/(\.\w+)*$/.exec(file.name)[0]}`;
      try {
        files[place] = new Uint8Array(await file.arrayBuffer());
      } catch (error) { // it is gone, or larger than a tab's memory
        status.textContent = `${file.name} could not be read: ${error.message}`;
        return;
      }
      given.push(`--${name}`, `/work/${place}`);
    }
    begin(files, [...given, ...(options.value.match(/\S+/g) ?? [])]);
  });
  sample.addEventListener("click", () => begin({}, OF_THE_SAMPLE, true));
  cancel.addEventListener("click", () => running?.stop());
  cancel.hidden = true;
  box.append(element("div", { class: "audit-files" }, ...labels(FILES)), more, tools, shown);
}

document.querySelectorAll(".audit-here").forEach(prepare);

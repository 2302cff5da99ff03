// Loads what its page runs Python with, where there is a server: from a file a browser loads no module and no worker.
if (location.protocol !== "file:") import(new URL(document.currentScript.dataset.module, document.currentScript.src));
else for (const place of document.querySelectorAll("div.cell.tag_run-here, .audit-here")) {
  const note = document.createElement("p");
  note.className = "run-here-note";
  note.textContent = "From a file a browser runs no Python. In this folder, `python3 -m http.server`, then http://localhost:8000, does.";
  place.append(note);
}

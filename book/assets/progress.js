// "I have read this": marks that stay in the reader's browser and are sent nowhere. A tick follows each link to a page
// that was read, in the sidebar and on the map. A browser that keeps nothing for this site shows none of it.
"use strict";

(() => {
  const KEY = "two-tower-course.read";

  function marks() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
      return new Set(Array.isArray(kept) ? kept : []);
    } catch (error) {
      if (error instanceof SyntaxError) return new Set(); // somebody else's words under our key
      return null;
    }
  }

  function keep(pages) {
    try {
      localStorage.setItem(KEY, JSON.stringify([...pages]));
    } catch {
      // full, or refused since the page was opened: the mark lasts as long as the page
    }
  }

  // "book/geometry/gauge-freedom" for a link to that page, from wherever the site lies.
  function pageOf(link) {
    const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
    const { origin, pathname } = new URL(link.href, location.href);
    return origin === root.origin && pathname.startsWith(root.pathname) ? pathname.slice(root.pathname.length).replace(/\.html$/, "") : null;
  }

  function tick(link, isRead) {
    const there = link.querySelector(".read-mark");
    if (!isRead) there?.remove();
    else if (!there) link.insertAdjacentHTML("beforeend", '<span class="read-mark"> ✓<span class="for-ears"> read</span></span>');
  }

  function onMap(read) {
    const title = document.querySelector("section#the-map > h2");
    if (!title) return;
    let line = document.querySelector(".read-so-far");
    if (!line) {
      title.insertAdjacentHTML("afterend", '<p class="read-so-far"><span role="status"></span> <button type="button" class="clear-marks">Clear all marks</button></p>');
      line = title.nextElementSibling;
      line.querySelector("button").addEventListener("click", clear);
    }
    line.querySelector("span").textContent = read.size ? `You have marked ${read.size === 1 ? "one page" : `${read.size} pages`} as read.` : "";
    line.querySelector("button").hidden = !read.size;
  }

  function show() {
    const read = marks();
    if (!read) return;
    for (const link of document.querySelectorAll(".bd-sidebar-primary nav a[href], .chapter-card a[href]")) tick(link, read.has(pageOf(link)));
    const foot = document.querySelector(".page-foot .reading");
    if (foot) {
      foot.hidden = false;
      foot.querySelector(".mark-read").setAttribute("aria-pressed", read.has(foot.dataset.page));
      foot.querySelector(".clear-marks").hidden = !read.size;
    }
    onMap(read);
  }

  function say(text) {
    const status = document.querySelector(".page-foot .reading [role=status]");
    if (status) status.textContent = text;
  }

  function clear(event) {
    keep([]);
    show();
    say("All marks are cleared.");
    if (event.target.hidden) (document.querySelector(".mark-read") ?? document.querySelector("#the-map a")).focus();
  }

  function mark() {
    const page = this.closest("[data-page]").dataset.page;
    const read = marks() ?? new Set();
    const isNew = !read.delete(page);
    if (isNew) read.add(page);
    keep(read);
    show();
    say(isNew ? "Marked as read, in this browser only." : "The mark is gone.");
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector(".page-foot .mark-read")?.addEventListener("click", mark);
    document.querySelector(".page-foot .clear-marks")?.addEventListener("click", clear);
    show();
  });
  window.addEventListener("pageshow", ({ persisted }) => persisted && show());
  window.addEventListener("storage", ({ key }) => key === KEY && show());
})();

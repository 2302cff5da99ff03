// A link to a statement, an exercise, a formula, a figure, a term, a claim or a paper shows what it leads to, while the mouse or
// the keyboard rests on it. Nothing here is needed to read a page: without this file a link is a link.
"use strict";

(() => {
  const SHOWN = 'div.proof, div.exercise, div.math, figure, dt, p[id^="claim-"]'; // what a card can show
  const LINKS = 'article a.reference.internal[href*="#"]';
  const REST = 250; // ms that the mouse rests on a link before its card comes, and that the card stays after it has left

  // a popover, so that it lies above the popover of a mark whose links it explains
  const card = Object.assign(document.createElement("div"), { className: "course-card", hidden: true, popover: "manual" });
  const pages = new Map(); // address -> the page, asked of the same site when a card first needs it
  let shownFor = null, timer = 0;

  // The page that a link leads to; from a folder a browser reads no other page, and the card stays away.
  function pageOf(address) {
    if (address.pathname === location.pathname) return document;
    if (!location.protocol.startsWith("http")) return null;
    if (!pages.has(address.pathname)) {
      const asked = fetch(address.pathname).then((answer) => (answer.ok ? answer.text() : ""));
      pages.set(address.pathname, asked.then((text) => new DOMParser().parseFromString(text, "text/html"), () => null));
    }
    return pages.get(address.pathname);
  }

  // Of a term its meaning, of a claim's name what is claimed, of everything else itself.
  function meaningOf(target) {
    if (target.matches("p")) return target.closest("td")?.nextElementSibling;
    let said = target;
    while (said?.matches("dt")) said = said.nextElementSibling;
    return said;
  }

  // What a card says: the reference of a paper, which the link carries, or a copy of what the link leads to.
  async function contentOf(link) {
    const words = link.dataset.reference;
    if (words) return Object.assign(document.createElement("p"), { textContent: words });
    const address = new URL(link.href);
    const page = await pageOf(address);
    const target = page?.getElementById(decodeURIComponent(address.hash.slice(1)));
    if (!target?.matches(SHOWN)) return null;
    const said = meaningOf(target);
    if (!said) return null;
    const copy = said.matches("dd, td") ? document.createElement("div") : document.importNode(said, true);
    if (!copy.childNodes.length) copy.append(...[...said.childNodes].map((node) => document.importNode(node, true)));
    if (page !== document) {
      for (const one of copy.querySelectorAll("[src], [srcset]")) {
        for (const name of ["src", "srcset"]) if (one.hasAttribute(name)) one.setAttribute(name, new URL(one.getAttribute(name), address));
      }
    }
    copy.querySelectorAll(".headerlink, .copybtn, .toggle-button, .evidence, .support, mjx-assistive-mml").forEach((one) => one.remove());
    for (const one of [copy, ...copy.querySelectorAll("[id]")]) one.removeAttribute("id");
    copy.classList.remove("margin-caption", "toggle-hidden");
    return copy;
  }

  async function show(link) {
    const content = await contentOf(link).catch(() => null);
    if (!content || shownFor !== link) return;
    const inside = Object.assign(document.createElement("div"), { inert: true });
    inside.append(content);
    card.replaceChildren(inside);
    card.hidden = false;
    card.showPopover?.();
    place(link);
    await window.MathJax?.typesetPromise?.([inside]);
    if (shownFor === link) place(link);
  }

  // Below the link where there is room, else above it; never over the edge.
  function place(link) {
    const at = link.getClientRects()[0], { width, height } = card.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    card.style.left = `${Math.max(8, Math.min(at.left, clientWidth - width - 8))}px`;
    card.style.top = `${at.bottom + height + 12 < clientHeight || at.top < height + 12 ? at.bottom + 6 : at.top - height - 6}px`;
  }

  function hide() {
    clearTimeout(timer);
    shownFor = null;
    if (!card.hidden) card.hidePopover?.();
    card.hidden = true;
  }

  function want(link) {
    clearTimeout(timer);
    if (shownFor === link) return;
    hide();
    timer = setTimeout(() => { shownFor = link; show(link); }, REST);
  }

  function leave() {
    clearTimeout(timer);
    timer = setTimeout(hide, REST);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const links = [...document.querySelectorAll(LINKS)];
    if (!links.length) return;
    document.querySelector("article").append(card);
    card.addEventListener("pointerenter", () => clearTimeout(timer));
    card.addEventListener("pointerleave", leave);
    for (const link of links) {
      if (link.title && link.href.includes("bibliography")) { // the browser's own small label would lie over the card
        link.dataset.reference = link.title;
        link.setAttribute("aria-description", link.title);
        link.removeAttribute("title");
      }
      link.addEventListener("pointerenter", ({ pointerType }) => pointerType === "mouse" && want(link));
      link.addEventListener("pointerleave", leave);
      link.addEventListener("focus", () => link.matches(":focus-visible") && want(link));
      link.addEventListener("blur", leave);
    }
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  window.addEventListener("scroll", ({ target }) => {
    if (target === card || card.hidden) return;
    if (shownFor === document.activeElement) place(shownFor); // the page glides to a link that the keyboard has reached
    else hide();
  }, { passive: true, capture: true });
})();

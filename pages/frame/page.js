// What every page does in the browser beside Streamlit's own scripts; part of its document, see gate.py.
"use strict";
window.__streamlit = { BACKEND_BASE_URL: new URL(".", location).href }; // else a page's own address is asked first, in vain
{
  const SPOKEN_MS = 7000; // by then a screen reader has taken it up; who reads on by hand need not meet it twice
  const heard = new Set();
  let waiting, seen, last, draft, arrived, turn, touched = false;

  /* Read finished answers aloud, each once. A screen reader speaks what is added to a live region that was there before,
     and Streamlit makes the boxes of answers together with their text. What a reload brings back is not read: nobody has
     touched the page yet. */
  const read = () => {
    waiting = undefined;
    for (const said of document.querySelectorAll("[data-said]")) {
      const column = said.closest('[class*="st-key-card"]')?.querySelector("h3")?.textContent;
      const text = [column, said.innerText].filter(Boolean).join(". ");
      if (heard.has(text)) continue;
      heard.add(text);
      if (!touched) continue;
      const line = document.createElement("p");
      line.textContent = text;
      document.getElementById("rl-heard").append(line);
      setTimeout(() => line.remove(), SPOKEN_MS);
    }
  };

  /* Keep a question that was typed but not run, so that a reload and the way back from another page bring it back. The form
     hides it from the server until it is submitted, and no address may hold it: servers and proxies keep addresses. The
     tab's own storage does. */
  const [{ type }] = performance.getEntriesByType("navigation");
  const reloaded = type !== "navigate" && location.href;
  const keep = () => {
    const box = document.querySelector(".st-key-question-row textarea");
    if (document.querySelector(".rl-presented")) sessionStorage.removeItem("typed"), seen = undefined; // "Next" replaces it
    if (!box) return;
    if (box !== last) { // drawn anew
      const { at, text } = JSON.parse(sessionStorage.getItem("typed") ?? "{}");
      if (text && at === (last ? location.href : reloaded)) draft = text;
      last = box;
    }
    if (draft !== undefined && box.value !== draft) { // as if typed: React sees no other change
      Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, draft);
      box.dispatchEvent(new Event("input", { bubbles: true }));
      setTimeout(() => box.dispatchEvent(new FocusEvent("focusout", { bubbles: true }))); // or no demo question replaces it
    }
    const now = JSON.stringify({ at: location.href, text: box.value });
    if (now !== seen) sessionStorage.setItem("typed", seen = now);
  };

  /* Show a quoted sentence, below the heading of its section unless that is too far above. */
  const show = (mark) => {
    mark.closest(".rl-text")?.previousElementSibling?.scrollIntoView({ block: "start" });
    mark.scrollIntoView({ block: "nearest" });
  };

  /* The page of a document opens at its quoted sentence, once: Streamlit draws it when the browser has looked for #quoted. */
  const arrive = () => {
    const mark = document.getElementById("quoted");
    if (!mark || arrived === location.href) return;
    arrived = location.href;
    if (!touched) show(mark);
  };

  /* In a room, what is to be judged next is read from its top; Streamlit stays where the vote before was given. */
  const begin = () => {
    const now = document.querySelector("[data-turn]")?.dataset.turn;
    if (now && turn && now !== turn) document.querySelector("[data-testid=stMain]").scrollTo(0, 0);
    turn = now ?? turn;
  };

  /* The word on a button that uploads is Streamlit's own, in English; it is put into the language of the page. */
  const word = () => {
    const said = document.querySelector("[data-upload]")?.dataset.upload;
    for (const one of document.querySelectorAll("[data-testid=stFileUploaderDropzone] button p")) {
      if (said && one.textContent !== said) one.textContent = said;
    }
  };

  /* A dialog stands outside the app: it has the app's theme, and it takes the keys, also where the redraw that opened it
     took away the button that had them. */
  const enter = () => {
    const app = document.querySelector(".stApp");
    if (app) document.body.style.colorScheme = getComputedStyle(app).colorScheme;
    if (document.activeElement === document.body) document.querySelector("section[role=dialog]")?.focus();
  };

  addEventListener("toggle", ({ target, newState }) => { // the drawer of a document; this event does not bubble
    const mark = newState === "open" && target.matches(".rl-drawer") && target.querySelector("mark");
    if (!mark) return;
    mark.focus({ preventScroll: true });
    show(mark);
  }, true);
  /* A button in a text presses the one of Streamlit's, which stands hidden, that does what it says. */
  addEventListener("click", ({ target }) => {
    const key = target.closest?.("[data-press]")?.dataset.press;
    if (key) document.querySelector(`.st-key-${key} button`)?.click();
  });
  /* Copy the page's address; the clipboard of the first way is only there over https and on this machine. */
  addEventListener("click", async ({ target }) => {
    const button = target.closest?.(".rl-copy");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {
      const box = document.body.appendChild(document.createElement("textarea"));
      box.value = location.href;
      box.select();
      document.execCommand("copy");
      box.remove();
      button.focus();
    }
    const words = button.dataset.words ??= button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => button.textContent = words, 2000);
  });
  /* Enter runs a question, as Control+Enter does for Streamlit; the keys of a touch screen have no Shift+Enter. */
  addEventListener("keydown", (event) => {
    const { target, key, shiftKey, ctrlKey, metaKey, isComposing } = event;
    if (key !== "Enter" || shiftKey || ctrlKey || metaKey || isComposing || !target.matches(".st-key-question-row textarea")) return;
    if (matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    event.stopPropagation();
    target.dispatchEvent(new KeyboardEvent("keydown", { key, code: key, ctrlKey: true, bubbles: true, cancelable: true }));
  }, true);
  for (const input of ["keydown", "pointerdown"]) addEventListener(input, () => {
    touched = true;
    draft = undefined;
  }, true);
  new MutationObserver(() => waiting ??= setTimeout(read, 300)).observe(document.body, { childList: true, subtree: true });
  setInterval(arrive, 250);
  setInterval(begin, 250);
  setInterval(enter, 250);
  setInterval(word, 250);
  setInterval(keep, 250); // neither React's changes of a box nor the server's of the address make an event
}

// What every page does in the browser beside Streamlit's own scripts; part of its document, see shell.py.
"use strict";
{
  const SPOKEN_MS = 7000; // by then a screen reader has taken it up; who reads on by hand need not meet it twice
  const heard = new Set();
  let waiting, seen, touched = false;

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

  /* Keep a question that was typed but not run in the address, so that a reload brings it back. The form hides it from the
     server until it is submitted. */
  const keep = () => {
    const box = document.querySelector(".st-key-question-row textarea");
    if (!box || seen === location.href + box.value) return;
    const address = new URL(location.href), asked = address.searchParams.get("q");
    if (box.value.trim() && box.value !== asked) address.searchParams.set("typed", box.value);
    else address.searchParams.delete("typed");
    if (address.href !== location.href) history.replaceState(history.state, "", address);
    seen = location.href + box.value;
  };

  for (const input of ["keydown", "pointerdown"]) addEventListener(input, () => { touched = true; }, true);
  new MutationObserver(() => waiting ??= setTimeout(read, 300)).observe(document.body, { childList: true, subtree: true });
  setInterval(keep, 250); // neither React's changes of a box nor the server's of the address make an event
}

"use strict";
// Keeps a page up to date. Elements with an id that the stream names are put in place of the old ones; nothing else
// of the page is touched. All that comes is made by the server's templates, escaped there. Without this file the page reads as well, and
// shows what there was when it was loaded.
(() => {
  const said = document.getElementById("said");
  const link = document.getElementById("link");
  let source = null, version = "", loading = 0, later = [], spoken = 0;

  const page = () => document.querySelector("main[data-live]");

  // A tone of the line at the top: is this page alive?
  const tell = (state, text) => {
    if (!link || link.dataset.state === state) return;
    link.dataset.state = state;
    link.textContent = text;
  };

  const parse = (html, like) => {
    const t = document.createElement("template");
    const svg = like && like.namespaceURI === "http://www.w3.org/2000/svg";
    t.innerHTML = svg ? "<svg>" + html + "</svg>" : html;
    return svg ? t.content.firstElementChild.firstElementChild : t.content.firstElementChild;
  };

  // What a person has done to an element outlives its replacement: focus, what is unfolded, what is typed, where a text is scrolled to.
  const swap = (old, fresh) => {
    const at = document.activeElement;
    const focus = at && old.contains(at) ? at.id : "";
    const open = new Set([...old.querySelectorAll("details[id][open]")].map((d) => d.id));
    const typed = new Map([...old.querySelectorAll("input[id],textarea[id]")].filter((f) => f.type !== "hidden").map((f) => [f.id, f.value]));
    old.replaceWith(fresh);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, value] of typed) { const f = document.getElementById(id); if (f && value) f.value = value; }
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  };

  const apply = (parts) => {
    const follow = [...document.querySelectorAll("[data-follow]")].filter((e) => e.scrollTop + e.clientHeight >= e.scrollHeight - 24);
    for (const p of parts) {
      const old = document.getElementById(p.id);
      if (p.gone) { old?.remove(); continue; }
      if (old) { swap(old, parse(p.html, old.parentNode)); continue; }
      const home = p.in && document.getElementById(p.in);
      if (home) home[p.top ? "prepend" : "append"](parse(p.html, home));
    }
    for (const e of follow) e.scrollTop = e.scrollHeight;
    times();
  };

  // Said aloud at most every two seconds, or nobody could listen.
  const speak = (text) => {
    if (!text || !said) return;
    clearTimeout(spoken);
    spoken = setTimeout(() => { said.textContent = text; }, 400);
  };

  // The whole page again, after a gap that the stream cannot bridge. What comes meanwhile waits.
  const reload = async () => {
    const mine = ++loading;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.status);
      const doc = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = doc.querySelector("main[data-live]"), old = page();
      if (mine === loading && fresh && old && fresh.outerHTML !== old.outerHTML) {
        const y = scrollY;
        swap(old, document.adoptNode(fresh));
        scrollTo(0, y);
        filter();
      }
    } catch (e) {
      tell("off", "not connected");
    }
    if (mine === loading) { loading = 0; apply(later); later = []; }
  };

  const connect = () => {
    const main = page();
    if (!main || source) return;
    const url = new URL(main.dataset.live, location.href);
    url.searchParams.set("v", version || main.dataset.version);
    source = new EventSource(url);
    source.addEventListener("hello", () => tell("on", "live"));
    source.addEventListener("stale", (e) => { version = e.lastEventId; reload(); });
    source.addEventListener("patch", (e) => {
      const began = performance.now();
      const m = JSON.parse(e.data);
      version = e.lastEventId;
      if (loading) later.push(...m.parts); else apply(m.parts);
      speak(m.said);
      const all = document.documentElement.dataset; // for anyone who measures
      all.took = Math.max(Number(all.took || 0), performance.now() - began).toFixed(1);
    });
    source.onerror = () => {
      if (!source) return;
      if (source.readyState !== EventSource.CLOSED) return tell("off", "not connected, trying again");
      close();
      tell("off", "not connected, trying again");
      setTimeout(connect, 2000);
    };
  };

  const close = () => { source?.close(); source = null; };

  // A page that nobody sees needs no stream: browsers have few to give.
  document.addEventListener("visibilitychange", () => { document.hidden ? close() : connect(); });
  addEventListener("pagehide", close);
  addEventListener("pageshow", connect);

  // Times that continue by themselves.
  const span = (s) => s < 60 ? s + "s" : s < 3600 ? Math.floor(s / 60) + "m" + String(s % 60).padStart(2, "0") + "s" : Math.floor(s / 3600) + "h" + String(Math.floor(s / 60) % 60).padStart(2, "0") + "m";
  const times = () => {
    for (const e of document.querySelectorAll("time[data-since]")) {
      const text = span(Math.max(0, Math.floor(Date.now() / 1000 - e.dataset.since)));
      if (e.textContent !== text) e.textContent = text;
    }
  };
  setInterval(times, 1000);

  // Rows that a person looks for, among those that are there.
  const filter = () => {
    for (const f of document.querySelectorAll("input[data-filter]")) {
      const want = f.value.toLowerCase();
      let n = 0;
      for (const row of document.querySelectorAll("#" + f.dataset.filter + " > *")) {
        row.hidden = want !== "" && !row.textContent.toLowerCase().includes(want);
        if (!row.hidden) n++;
      }
      const count = document.getElementById(f.id + "-count");
      if (count) count.textContent = want ? n + " shown" : "";
    }
  };
  document.addEventListener("input", (e) => { if (e.target.matches("input[data-filter]")) filter(); });
  for (const f of document.querySelectorAll("[data-script]")) f.hidden = false;

  // Keys. In a field only Escape counts, and nothing is taken from browser or screen reader: keys with Ctrl, Alt or Meta pass.
  const keys = document.getElementById("keys");
  const rows = () => [...document.querySelectorAll("#rows > tr, #runs > tr, #waiting > section, ul.hits > li")].filter((r) => !r.hidden).map((r) => r.querySelector("a")).filter(Boolean);
  const step = (by) => {
    const all = rows(), at = all.indexOf(document.activeElement);
    all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
  };
  const go = { r: "/", n: "/waiting", l: "/learning" };
  let leader = 0;
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey || e.isComposing) return;
    if (e.target.matches("input, textarea, select")) { if (e.key === "Escape") e.target.blur(); return; }
    if (keys?.open) return; // it closes by Escape
    if (e.timeStamp - leader < 1500 && go[e.key]) { leader = 0; location.href = go[e.key]; return; }
    leader = e.key === "g" ? e.timeStamp : -1e4;
    const does = {
      "?": () => keys?.showModal(),
      "/": () => document.querySelector("main input[type=search]:not([hidden])")?.focus(),
      j: () => step(1), k: () => step(-1),
      u: () => document.querySelector(".crumbs a:last-of-type")?.click(),
    }[e.key];
    if (does) { e.preventDefault(); does(); }
  });
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-help]")) keys?.showModal();
    if (e.target.closest("[data-close]")) keys?.close();
  });

  for (const e of document.querySelectorAll("[data-follow]")) e.scrollTop = e.scrollHeight;
  times();
  connect();
})();

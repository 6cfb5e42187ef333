// Finds pages and sections by the words of a query. The index is in index.js; nothing is fetched.
"use strict";
if (matchMedia("(max-width: 50rem)").matches) document.getElementById("pages").open = false;
const field = document.getElementById("search"), list = document.getElementById("found");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter((w) => w.length > 1);
  list.replaceChildren();
  if (!words.length) return;
  const hits = [];
  for (const [url, title, text] of window.searchIndex) {
    const head = title.toLowerCase();
    let points = 0;
    if (words.every((w) => { const h = head.includes(w), t = text.includes(w); points += (h ? 10 : 0) + (t ? 1 : 0); return h || t; })) hits.push([points, url, title]);
  }
  hits.sort((a, b) => b[0] - a[0]);
  for (const [, url, title] of hits.slice(0, 12)) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = url;
    link.textContent = title;
    item.append(link);
    list.append(item);
  }
  if (!hits.length) { const item = document.createElement("li"); item.textContent = "nothing found"; list.append(item); }
});

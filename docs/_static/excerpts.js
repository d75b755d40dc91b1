// An excerpt under each hit of the search: the first sentence with one of the words, else the page's first words.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\W+/).filter(Boolean);
  const results = document.getElementById("search-results");
  if (!results || !words.length) return;
  const excerpt = (text) => {
    const low = text.toLowerCase();
    const places = words.map((word) => low.indexOf(word)).filter((place) => place >= 0);
    const from = places.length ? Math.max(0, Math.min(...places) - 60) : 0;
    return (from ? "... " : "") + text.slice(from, from + 180) + (from + 180 < text.length ? " ..." : "");
  };
  const show = () => {
    for (const link of results.querySelectorAll("li > a:first-of-type")) {
      const item = link.parentElement;
      if (item.querySelector(".excerpt")) continue;
      const page = link.getAttribute("href").replace(/\.html.*$/, "");
      const text = (window.PAGES || {})[page];
      if (!text) continue;
      const line = document.createElement("p");
      line.className = "excerpt";
      line.textContent = excerpt(text);
      item.append(line);
    }
  };
  new MutationObserver(show).observe(results, { childList: true, subtree: true });
  show();
});

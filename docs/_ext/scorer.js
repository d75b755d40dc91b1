// How hits of the search are put in order: pages whose own title holds all the words come first, then as Sphinx does it.
var Scorer = {
  score: (result) => {
    const [, title, anchor, , score, , kind] = result;
    const asked = new URLSearchParams(window.location.search).get("q") || "";
    const words = asked.toLowerCase().split(/\W+/).filter((word) => word);
    const named = title.toLowerCase().split(/\W+/);
    const all = words.every((word) => named.some((each) => each.startsWith(word)));
    return all && !anchor && kind !== "object" ? score + 30 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// The roster in force, what is proposed to come next and who signed that; the head of the audit log.
"use strict";
const Rosters = (() => {
  const { html, plain } = Parts;
  const { list, many, facts, fresh, saving } = Words;
  const KINDS = [["joined", "joins"], ["left", "leaves"], ["rotated", "has a new key"], ["replaced", "has its key replaced"]];

  function proposal(each) {
    const what = KINDS.flatMap(([kind, words]) => each[kind].map((name) => `${plain(name)} ${words}`)).join(", ") || "the same members";
    return html("div", { class: "evidence proposal" }, [
      html("p", {}, [html("b", { text: `A new roster is proposed (${each.proposal.slice(0, 12)}): ` }), what, "."]),
      facts([
        ["signed", `${each.signed.length ? list(each.signed, 12) : "nobody yet"}; ${each.counted} of ${each.needed} that count`],
        ["old keys owed", list(each.owed)],
      ]),
      html("p", { class: "soft small", text: "folkmoot roster sign, on the machine of a member, signs it; a node signs one successor of a roster and no more." }),
    ]);
  }

  function draw(state) {
    const { moot } = state;
    const [entries, link] = moot.audit;
    fresh(document.getElementById("roster"), [
      facts([
        ["roster", `epoch ${moot.epoch}, ${many(moot.participants, "member")}`],
        ["digest", [html("code", { class: "digest", text: moot.moot })]],
        ["audit log", entries === 1 ? "1 entry" : `${entries.toLocaleString("en")} entries`],
        ["its head", link && [html("code", { class: "digest", text: link })]],
      ]),
      ...moot.proposals.map(proposal),
      state.access.may === "ask" ? html("p", { class: "buttons-line" }, [saving("Audit log, signed", "/v2/audit", `${moot.node.replace(/[^\w.-]/g, "_")}.audit`, state.tell)]) : null,
      html("p", { class: "soft small", text: "All members must have the same digest: compare it by another way than this network. folkmoot verify FILE checks a log." }),
    ].filter(Boolean));
  }

  return { draw };
})();

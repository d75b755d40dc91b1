// Which model of this node votes, what pools made of it, and the report of each: adopt one, or undo that.
"use strict";
const Models = (() => {
  const { html, bare, plain } = Parts;
  const { many, short, list, clock, chip, facts, fresh, head, cell, button } = Words;
  const CHANGES = 12; // shown of a report

  const named = (motion, told) => (motion ? `the model made of the pool ${short(motion)}` : `the model of node.toml (${plain(told.named)})`);
  const share = (part, whole) => `${part.toLocaleString("en")}${whole ? `, ${(part / whole).toFixed(3).replace(/^0/, "")}` : ""}`;

  function standing(report, told) {
    if (report.motion === told.votes) return ["good", "votes"];
    if (report.why !== null) return ["soft", "refused"];
    if (told.adopted.includes(report.motion)) return ["soft", "adopted before"];
    return ["waits", "waits for you"];
  }

  // What is known of a candidate, as folkmoot node adopt --show has it.
  const known = (report) =>
    facts([
      ["pool", `${many(report.inputs, "input")} that ${plain(report.asker)} chose; ${report.decided.toLocaleString("en")} decided, ${report.used.toLocaleString("en")} used`],
      ["answered otherwise", `this node's own model, on ${report.otherwise.toLocaleString("en")} of these`],
      ["agreed labels", list(Object.entries(report.labels).map(([label, times]) => `${label}: ${times.toLocaleString("en")}`), 12)],
      ["promised", report.gain === null || report.shared === null ? "" : `${(100 * report.gain).toFixed(1)}% of the pool gained over this node's own model, by first votes; those that count for it held ${(100 * report.shared).toFixed(0)}% of the labels in the end`],
      ["right before", report.before === null ? "" : `${share(report.before, report.rows)} of ${many(report.rows, "own row")} (${plain(report.compared_with)})`],
      ["right after", report.after === null ? "" : `${share(report.after, report.rows)} of ${many(report.rows, "own row")} (fitted to the pool alone)`],
      ["labels lost", list(report.lost, 12)],
      ["made", `${clock(report.made)}, in ${report.seconds.toFixed(1)} s`],
    ]);

  function changes(report) {
    if (!report.changes.length) return [];
    const labels = [...new Set([...report.knows, ...report.lost])].sort();
    const number = (value) => cell(value.toLocaleString("en"), { class: "number" });
    const rows = report.changes.slice(0, CHANGES).map((each) =>
      html("tr", {}, [cell(chip(each.before || null, labels)), cell(chip(each.after, labels)), number(each.rows), number(each.right_before), number(each.right_after)]));
    const more = report.changes.length - rows.length;
    return [
      html("h3", { text: "Answers to own rows that change" }),
      html("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Answers that change, pool ${short(report.motion)}` }, [html("table", { class: "table changes" }, [head("from", "to", "rows", "right before", "right after"), html("tbody", {}, rows)])]),
      more > 0 ? html("p", { class: "soft small", text: `and ${many(more, "kind")} of change more` }) : null,
    ];
  }

  function candidate(state, told, report, open) {
    const [kind, words] = standing(report, told);
    const right = report.after === null ? "" : `: right on ${report.after} of ${many(report.rows, "own row")}${report.before === null ? "" : `, ${report.before} before`}`;
    const parts = [known(report), ...changes(report)];
    if (report.why !== null) parts.push(html("p", { class: "bad", text: `Refused: ${bare(report.why)}.` }));
    else {
      parts.push(html("p", { class: "limits", text: `${plain(report.asker)} chose the inputs of the pool. A model can answer your rows well and still hold a backdoor: adopt it only if you trust who chose them.` }));
      if (!told.adopt_by_page && report.motion !== told.votes)
        parts.push(html("p", { class: "soft" }, ["To let it vote, type ", html("code", { text: `folkmoot node adopt FOLDER ${short(report.motion)}` }), ". With adopt_by_page = true in [improve] of node.toml it can be done here."]));
      else if (state.access.may === "ask" && report.motion !== told.votes)
        parts.push(button("Adopt: let it vote", () => change(state, "adopt", report.motion), { class: "main adopt", "data-key": `adopt ${report.motion}` }));
    }
    return html("details", { class: "evidence candidate", "data-motion": report.motion, open: open ? "" : null }, [
      html("summary", { "data-key": `candidate ${report.motion}` }, [html("b", { text: `Pool ${short(report.motion)}` }), ` of ${plain(report.asker)}${right} `, html("b", { class: `tag ${kind}`, text: words })]),
      ...parts,
    ]);
  }

  async function change(state, what, motion) {
    const said = document.getElementById("model-said");
    try {
      const done = await Link.send("POST", `/v1/model/${what}`, JSON.stringify({ motion }), { "Content-Type": "application/json" });
      said.className = "good";
      said.textContent = `${what === "adopt" ? "Adopted" : "Undone"}: from the next motion on ${named(done.votes, state.model)} votes. A motion under way keeps its model.`;
    } catch (error) {
      said.className = "bad";
      said.textContent = bare(error.message);
    }
    await state.lookAtModel();
  }

  function draw(state) {
    const told = state.model;
    const where = document.getElementById("model");
    if (!told) return;
    const open = new Set([...where.querySelectorAll("details[open]")].map((each) => each.dataset.motion));
    const latest = told.adopted.at(-1);
    const parts = [html("p", {}, [html("b", { text: bare(`${named(told.votes, told)} votes`).replace(/^t/, "T") }), " from the next motion on."])];
    if (latest && told.adopt_by_page && state.access.may === "ask")
      parts.push(html("p", {}, [button("Undo the latest adoption", () => change(state, "undo", latest), { class: "small-button undo", "data-key": "undo" }), html("span", { class: "soft small", text: ` of the pool ${short(latest)}` })]));
    if (told.pools.length) parts.push(html("p", { class: "soft", text: `${many(told.pools.length, "pool")} (${list(told.pools.map(short), 4)}) ${told.pools.length === 1 ? "waits" : "wait"} for the end of the motion, or for a model to be fitted.` }));
    parts.push(...[...told.candidates].reverse().map((report) => candidate(state, told, report, open.has(report.motion))));
    parts.push(html("p", { class: "soft small", text: told.pools_of === null
      ? "This node has no [improve] in its node.toml: it votes on pools, and its model stays as it is."
      : `Better models are made of ${told.pools_of.length ? `pools of ${list(told.pools_of)}, and of this node's own` : "this node's own pools alone"}. Nothing is adopted by itself.` }));
    fresh(where, parts);
  }

  return { draw };
})();

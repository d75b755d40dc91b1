// The motions of this node: the list, and the one that is looked at, while it is under way and afterwards.
"use strict";
const Motion = (() => {
  const { html, bare, plain, percent } = Parts;
  const { many, short, list, time, clock, bars, chart, key, fresh, facts, reasons, head, cell, button, saving } = Words;
  const PHASES = { voting: "models vote", gathering: "votes are committed", revealing: "votes are shown", talking: "they talk", closing: "answers are signed" };

  const left = (live) => live.remaining - (performance.now() - live.at) / 1000;

  function phases(live) {
    const names = Object.keys(PHASES).filter((name) => name !== "revealing" || live.reveals);
    const now = names.indexOf(live.phase);
    return html("ol", { class: "phases" }, names.map((name, i) =>
      html("li", { class: i < now ? "done" : i === now ? "now" : "", "aria-current": i === now ? "step" : null }, [html("b", { text: name }), html("span", { text: PHASES[name] })])));
  }

  function progress(words, value, most) {
    const bar = html("span", { class: "bar" });
    bar.style.width = percent(most ? Math.min(1, Math.max(0, value / most)) : 0, 1);
    return html("div", { class: "line meter" }, [html("span", { class: "soft", text: words[0] }), html("span", { class: "track" }, [bar]), html("span", { class: "many", text: words[1] })]);
  }

  function underWay(state, motion, live) {
    const detail = live.detail;
    const parts = [
      phases(live),
      progress(["round", `${live.round} of ${live.rounds}`], live.round, live.rounds),
      progress(["time left", time(left(live))], left(live), motion.seconds || live.whole || live.remaining),
      html("p", { class: "counts", text: `${live.committed} of ${motion.participants} have committed their votes, ${live.closed} have signed their answers.` }),
    ];
    if (detail && Object.keys(detail.refused).length) parts.push(html("p", { class: "counts bad refusals", text: `Take no part: ${reasons(detail.refused)}.` }));
    if (Object.keys(live.shares).length) {
      const asked = detail && detail.asked.length ? ` (${list(detail.asked)})` : "";
      parts.push(html("h3", { text: "Shares among those asked in the latest round" }), ...bars(live.shares, motion.labels));
      parts.push(html("p", { class: "soft small", text: `Votes on all ${many(motion.inputs, "input")} of those who answered${asked}.` }));
    }
    if (typeof live.apart === "number") parts.push(html("p", { class: "counts", text: `The numbers of those asked in the latest round are ${Number(live.apart.toPrecision(3))} apart on the worst input${motion.tol ? `; ${motion.tol} will do` : ""}.` }));
    if (live.series.length > 1) parts.push(html("h3", { text: "Round by round" }), chart(live.series, motion.labels, "shares of the labels among those asked, round by round"), key(motion.labels));
    parts.push(html("p", { class: "limits", text: "A node sees no more than this: its own questions, and what those whom it asked answered. What the others say to each other it learns only from what they sign at the end." }));
    return parts;
  }

  function rule(motion) {
    const asks = `${plain(motion.protocol)}, k = ${motion.k}`;
    if (motion.tol !== null) return `${asks}; at least ${motion.least_voters} with an answer at first, a quorum of ${motion.quorum} within ${motion.tol}`;
    return `${asks}, alpha = ${motion.alpha}; ${motion.quorum ? `at least ${many(motion.least_voters, "first vote")}, a quorum of ${motion.quorum}` : "each node decides by those whom it trusts"}`;
  }

  const took = (motion) => `${many(motion.rounds_played, "round")}, ${many(motion.queries, "question")} of this node`;

  // On what the weights of this node rest: check rows, truths, its own holdout.
  const learnt = (motion) => (motion.trust === null ? "" : `${bare(motion.why)}; the weights stand beside the participants`);

  const known = (motion) =>
    facts([
      ["took part", list(motion.took_part, 30)],
      ["silent", list(motion.silent)],
      ["late", list(motion.late)],
      ["abstained", reasons(motion.abstained)],
      ["refused", reasons(motion.refused)],
      ["check rows", motion.check_rows ? list(Object.entries(motion.check_rows).map(([name, rows]) => `${name} ${rows}`), 30) : ""],
      ["sent none", reasons(motion.without_rows)],
      ["rows dropped", list(motion.vanished)],
      [motion.check_rows ? "peer review" : "trust", learnt(motion)],
      ["rule", rule(motion)],
      ["it took", `${motion.seconds.toFixed(1)} s, ${took(motion)}`],
      ["columns", motion.columns.length ? list(motion.columns, 12) : "without names: nobody could check them"],
    ]);

  function over(state, motion) {
    const name = short(motion.motion);
    const accused = Object.entries(motion.evidence);
    const path = `/v1/motions/${motion.motion}`;
    return [
      html("p", { class: "verdict" }, [html("b", { text: `${motion.decided} of ${many(motion.inputs, "input")} decided` }), `; ${many(motion.took_part.length, "participant")} of ${motion.participants} signed.`]),
      ...accused.map(([who, what]) => html("p", { class: "bad", text: `Evidence against ${plain(who)}: ${plain(what)}.` })),
      html("div", { class: "buttons wrap" }, [
        saving("Answers as CSV", `${path}/answers`, `${name}.csv`, state.tell),
        ...(motion.certificate ? [saving("Certificate", motion.certificate, `${name}.certificate`, state.tell)] : []),
        ...accused.slice(0, 5).map(([who]) => saving(`Evidence against ${plain(who)}`, `${path}/evidence/${encodeURIComponent(who)}`, `${name}-${who.replace(/[^\w.-]/g, "_")}.evidence`, state.tell)),
      ]),
      known(motion),
    ];
  }

  let shown = ""; // what is drawn, so that nothing is drawn twice
  function drawOne(state) {
    const where = document.getElementById("motion");
    const motion = state.motions.find((each) => each.motion === state.chosen);
    const title = document.getElementById("motion-title");
    if (!motion) {
      title.textContent = "Motion";
      if (shown !== "none") fresh(where, [html("p", { class: "soft", text: "Nothing has been put to the moot yet. Whatever is, by any participant, appears here." })]);
      shown = "none";
      return;
    }
    const live = motion.state === "open" ? state.live.get(motion.motion) : null;
    title.textContent = `Motion ${short(motion.motion)} ${live ? "is under way" : "is over"}`;
    if (live) {
      shown = `${motion.motion} live`;
      fresh(where, [about(motion), ...underWay(state, motion, live)]);
      return;
    }
    const mark = JSON.stringify([motion.motion, motion.state, motion.evidence, motion.took_part, motion.undecided, state.access.may]);
    if (mark === shown) return;
    shown = mark;
    if (motion.state === "open") fresh(where, [about(motion), html("p", { class: "soft", text: "It is open; this node will tell how far it is." })]);
    else {
      const decisions = html("div", { class: "decisions" });
      fresh(where, [about(motion), ...over(state, motion), decisions]);
      Decisions.draw(state, motion, decisions);
    }
  }

  const about = (motion) =>
    html("p", { class: "soft", text: `Asked by ${plain(motion.asker)}, ${clock(motion.created)}: ${many(motion.inputs, "input")}, ${motion.answers === "numbers" ? "numbers" : `${motion.answers === "probabilities" ? "probabilities of " : ""}${many(motion.labels.length, "label")}`}${motion.tol ? ` within ${motion.tol}` : ""}.` });

  function drawList(state) {
    const rows = [...state.motions].reverse().slice(0, 40).map((motion) => {
      const live = motion.state === "open" && state.live.get(motion.motion);
      const chosen = motion.motion === state.chosen;
      const pick = button(short(motion.motion), () => state.choose(motion.motion), { class: "pick", "data-key": motion.motion, "aria-pressed": String(chosen), "aria-label": `look at motion ${short(motion.motion)}` });
      const stands = live ? `${live.phase}, round ${live.round}` : motion.state === "open" ? "open" : motion.undecided ? `${motion.decided} decided, ${motion.undecided} not` : "all decided";
      const words = [`${stands} `];
      if (Object.keys(motion.evidence).length) words.push(html("b", { class: "bad", text: " evidence" }));
      return html("tr", { class: chosen ? "chosen" : "" }, [
        cell(pick), cell(motion.inputs.toLocaleString("en"), { class: "number" }), cell(words), cell(plain(motion.asker)), cell(clock(motion.created), { class: "number" }),
      ]);
    });
    fresh(document.getElementById("motions"), rows.length ? [head("motion", "inputs", "state", "asked by", "when"), html("tbody", {}, rows)] : []);
    fresh(document.getElementById("in-vain"), state.inVain.slice(0, 3).map((each) =>
      html("p", { class: "soft small", text: `Not put, ${clock(each.created)}: ${many(each.inputs, "input")} by peer review. ${bare(each.why)}.` })));
    const more = state.count - rows.length;
    document.getElementById("follow").hidden = !state.pinned;
    document.getElementById("motions-note").textContent = rows.length
      ? `${many(state.live.size, "motion")} under way.${more > 0 ? ` ${many(more, "older motion")}: folkmoot motions lists them.` : ""}`
      : "None yet.";
  }

  function draw(state) {
    drawOne(state);
    drawList(state);
  }

  return { draw, forget() { shown = ""; } };
})();

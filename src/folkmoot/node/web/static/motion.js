// The motions of this node: their history, and the one that is looked at, while it is under way and afterwards.
"use strict";
const Motion = (() => {
  const { html, bare, plain, percent } = Parts;
  const { many, short, list, time, clock, bars, chart, key, fresh, facts, reasons, head, cell, button, saving, digits, counted } = Words;
  // What a node says that it does, in order; those of a second poll only where there is one.
  const STEPS = [
    ["making first votes", "models vote"], ["agreeing on who voted", "commitments"], ["agreeing on first votes", "votes are shown"],
    ["talk", "members talk"], ["making final votes", "members weigh"], ["agreeing on final votes", "final votes"],
  ];

  const left = (live) => live.remaining - (performance.now() - live.at) / 1000;
  const polls = (motion) => (motion.terms.believe === "own" || motion.terms.protocol ? 2 : 1);

  function steps(live, motion) {
    const wanted = STEPS.filter(([name], i) => i < 3 || (polls(motion) === 2 && (name !== "talk" || motion.terms.protocol)));
    const found = wanted.findIndex(([name]) => name === live.phase);
    live.step = Math.max(live.step || 0, found);
    return html("ol", { class: "phases" }, wanted.map(([name, words], i) =>
      html("li", { class: i < live.step ? "done" : i === live.step ? "now" : "", "aria-current": i === live.step ? "step" : null }, [html("b", { text: words }), html("span", { text: name })])));
  }

  function progress(words, value, most) {
    const bar = html("span", { class: "bar" });
    bar.style.width = percent(most ? Math.min(1, Math.max(0, value / most)) : 0, 1);
    return html("div", { class: "line meter" }, [html("span", { class: "soft", text: words[0] }), html("span", { class: "track" }, [bar]), html("span", { class: "many", text: words[1] })]);
  }

  // How far a motion is, in a few lines: beside the button that asked for it, too.
  function standing(live, motion) {
    if (live.phase === "waiting") return [html("p", { class: "counts", text: "It waits for its place: other motions of this node are under way." })];
    return [
      progress(["have voted", `${live.committed} of ${motion.participants}`], live.committed, motion.participants),
      ...(live.rounds ? [progress(["round", `${live.round} of ${live.rounds}`], live.round, live.rounds)] : []),
      progress(["time left", time(left(live))], left(live), motion.terms.seconds),
    ];
  }

  function underWay(motion, live) {
    const detail = live.detail;
    const parts = [steps(live, motion), ...standing(live, motion)];
    if (live.closed) parts.push(html("p", { class: "counts", text: `${live.closed} of ${motion.participants} have said what was decided.` }));
    if (detail && Object.keys(detail.refused).length) parts.push(html("p", { class: "counts bad refusals", text: `Take no part (${Object.keys(detail.refused).length}): ${reasons(detail.refused)}.` }));
    if (Object.keys(live.shares).length) {
      parts.push(html("h3", { text: "Shares of the labels, as far as votes are known here" }), ...bars(live.shares, motion.labels));
      if (detail && detail.asked.length) parts.push(html("p", { class: "soft small", text: `This node asks ${list(detail.asked)}.` }));
    }
    if (live.series.length > 1) parts.push(html("h3", { text: "Round by round" }), chart(live.series, motion.labels, "shares of the labels, round by round"), key(motion.labels));
    parts.push(html("p", { class: "limits", text: "Nobody sees a vote before all votes are fixed: until then a node knows its own only." }));
    return parts;
  }

  function rule(motion) {
    const { terms } = motion;
    const talk = terms.protocol ? `, after ${plain(terms.protocol)} with k = ${terms.k}` : "";
    const whom = terms.believe === "own" ? ", of final votes: each member believes whom it chooses" : talk ? ", of final votes" : "";
    const labels = motion.labels.length ? `; a label needs ${many(motion.least, "first vote")}` : "";
    return `${plain(motion.rule)}${whom}${talk}${labels}; a quorum is ${motion.quorum} of ${motion.participants}, ${motion.faults} may lie`;
  }

  function worth(motion) {
    if (motion.effective_votes === null) return "";
    return `${many(motion.took_part.length, "member")}, worth at least ${digits(motion.effective_votes)} independent votes`;
  }

  const known = (motion) =>
    facts([
      ["took part", counted(motion.took_part)],
      ["effective votes", worth(motion)],
      ["depart together", motion.alike.map((group) => list(group)).join("; ")],
      ["silent", counted(motion.silent)],
      ["withheld", counted(motion.withheld)],
      ["struck", counted(motion.struck)],
      ["abstained", said(motion.abstained)],
      ["refused", said(motion.refused)],
      ["validation rows", Object.keys(motion.rows).length ? counted(Object.entries(motion.rows).map(([name, rows]) => `${name} ${rows}`)) : ""],
      ["my weights", motion.fell_back ? bare(motion.fell_back) : Object.keys(motion.weights).length ? "beside the participants" : ""],
      ["rule", rule(motion)],
      ["it took", `${motion.seconds.toFixed(1)} s${motion.rounds ? `, ${many(motion.rounds, "round")}` : ""}; ${Math.round((motion.bytes_sent + motion.bytes_received) / 1000).toLocaleString("en")} kB here`],
      ["columns", motion.columns.length ? list(motion.columns, 12) : "without names: nobody could check them"],
    ]);

  // All of them, each with its reason: a long list is folded, with its count.
  function said(why) {
    const lines = Object.entries(why).map(([name, words]) => html("li", {}, [html("b", { text: plain(name) }), `: ${bare(words)}`]));
    if (!lines.length) return "";
    const all = html("ul", { class: "reasons" }, lines);
    return lines.length < 4 ? [all] : [html("details", {}, [html("summary", { text: many(lines.length, "member") }), all])];
  }

  function over(state, motion) {
    const name = short(motion.motion);
    const accused = Object.entries(motion.evidence);
    const path = `/v2/motions/${motion.motion}`;
    const decided = motion.inputs - motion.undecided;
    const abstained = Object.keys(motion.abstained).length;
    const words = motion.state === "stopped" ? [html("b", { text: "This node gave the motion up" }), `: ${bare(motion.why)}.`]
      : [html("b", { text: `${decided.toLocaleString("en")} of ${many(motion.inputs, "input")} decided` }), `; votes of ${motion.took_part.length} of ${motion.participants} members were agreed on${abstained ? `, and ${abstained} of them abstained on some inputs` : ""}.`];
    return [
      html("p", { class: "verdict" }, words),
      ...accused.map(([who, what]) => html("p", { class: "bad", text: `Evidence against ${plain(who)}: ${plain(what)}.` })),
      html("div", { class: "buttons wrap" }, [
        saving("Answers as CSV", `${path}/answers`, `${name}.csv`, state.tell),
        ...(motion.certified ? [saving("Certificate", `${path}/certificate`, `${name}.certificate`, state.tell)] : []),
        ...(motion.labels.length ? [saving("A page that plays it", `${path}/play`, `${name}.html`, state.tell)] : []),
        ...accused.slice(0, 5).map(([who]) => saving(`Evidence against ${plain(who)}`, `/v2/evidence/${motion.motion}/${encodeURIComponent(who)}`, `${name}-${who.replace(/[^\w.-]/g, "_")}.evidence`, state.tell)),
      ]),
      motion.certified ? html("p", { class: "soft small", text: "folkmoot verify FILE checks the certificate anywhere: all signatures, and the answers computed again." }) : null,
    ].filter(Boolean);
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
    const live = state.live.get(motion.motion);
    title.textContent = `Motion ${short(motion.motion)} ${live ? "is under way" : "is over"}`;
    if (live) {
      shown = `${motion.motion} live`;
      fresh(where, [about(motion), ...underWay(motion, live)]);
      return;
    }
    const mark = JSON.stringify([motion.motion, motion.state, motion.evidence, motion.took_part, motion.undecided, state.access.may]);
    if (mark === shown) return;
    shown = mark;
    const decisions = html("div", { class: "decisions" });
    fresh(where, [about(motion), ...over(state, motion), decisions, html("h3", { text: "How it came about" }), known(motion)]);
    if (!motion.invites) Decisions.draw(state, motion, decisions);
  }

  const about = (motion) =>
    html("p", { class: "soft", text: `Asked by ${plain(motion.asker)}, ${clock(motion.created)}: ${motion.invites ? "an invitation to send validation rows" : `${many(motion.inputs, "input")}, ${motion.answers === "numbers" || motion.answers === "text" ? motion.answers : `${motion.answers === "probabilities" ? "probabilities of " : ""}${many(motion.labels.length, "label")}`}`}.` });

  // How much of each motion was decided, as a bar.
  function share(motion) {
    if (!motion.inputs) return "";
    const part = (motion.inputs - motion.undecided) / motion.inputs;
    const bar = html("span", { class: "bar" });
    bar.style.width = percent(part, 1);
    return [html("span", { class: "gauge", "aria-hidden": "true" }, [bar]), ` ${percent(part)}`];
  }

  function drawList(state) {
    const rows = [...state.motions].reverse().slice(0, 40).map((motion) => {
      const live = state.live.get(motion.motion);
      const chosen = motion.motion === state.chosen;
      const pick = button(short(motion.motion), () => state.choose(motion.motion), { class: "pick", "data-key": motion.motion, "aria-pressed": String(chosen), "aria-label": `look at motion ${short(motion.motion)}` });
      const words = live ? [live.phase] : motion.state === "open" ? ["open"] : motion.state === "stopped" ? ["given up"] : share(motion);
      const notes = Object.keys(motion.evidence).length ? [...words, html("b", { class: "bad", text: " evidence" })] : words;
      return html("tr", { class: chosen ? "chosen" : "" }, [
        cell(pick), cell(motion.inputs.toLocaleString("en"), { class: "number" }), cell(notes, { class: "number" }), cell(plain(motion.asker)), cell(clock(motion.created), { class: "number" }),
      ]);
    });
    fresh(document.getElementById("motions"), rows.length ? [head("motion", "inputs", "decided", "asked by", "when"), html("tbody", {}, rows)] : []);
    fresh(document.getElementById("in-vain"), state.inVain.slice(0, 3).map((each) =>
      html("p", { class: "soft small", text: `Not put, ${clock(each.created)}: ${many(each.inputs, "input")} by peer review. ${bare(each.why)}.` })));
    const over = state.motions.filter((each) => !state.live.has(each.motion) && each.state === "decided" && each.inputs);
    const inputs = over.reduce((sum, each) => sum + each.inputs, 0);
    const open = over.reduce((sum, each) => sum + each.undecided, 0);
    const more = state.count - rows.length;
    document.getElementById("follow").hidden = !state.pinned;
    document.getElementById("motions-note").textContent = rows.length
      ? `${many(state.live.size, "motion")} under way. ${inputs ? `Of ${many(inputs, "input")} in these motions ${percent((inputs - open) / inputs, 1)} were decided.` : ""}${more > 0 ? ` ${many(more, "older motion")}: folkmoot motions lists them.` : ""}${state.damaged.length ? ` ${many(state.damaged.length, "motion")} cannot be read: what is stored of them is not what this node wrote.` : ""}`
      : "None yet.";
  }

  function draw(state) {
    drawOne(state);
    drawList(state);
  }

  return { draw, standing, forget() { shown = ""; } };
})();

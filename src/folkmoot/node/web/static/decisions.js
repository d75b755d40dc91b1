// What was decided on each input, with the first votes beside it; how the talk went; and what was right, told afterwards.
"use strict";
const Decisions = (() => {
  const { html, bare, plain, percent } = Parts;
  const { many, chip, chart, key, head, cell, button, strip } = Words;
  const FIRST = 25;
  const MORE = 200;

  const NUMBERS = ["number", "a quorum signed", "agree", "first: lowest, median, highest"];
  const LABELS = ["decision", "agree", "first votes"];

  // Numbers have no labels: what was claimed, the window that it is the middle of, and between what the first numbers lay.
  function numberRow(line) {
    const said = line.decision === null ? html("span", { class: "soft", text: bare(line.why_undecided || "undecided") }) : html("b", { text: digits(line.claim) });
    return html("tr", {}, [
      html("th", { scope: "row", class: "number", text: String(line.input) }),
      cell([said]), cell(line.window ? line.window.map(digits).join(" to ") : "", { class: "number" }),
      cell(percent(line.agreement), { class: "number" }), cell((line.first_numbers || []).map(digits).join(", "), { class: "number" }),
    ]);
  }

  const digits = (number) => String(Number(number.toPrecision(6)));

  // Probabilities as they were agreed on, class by class, scaled to add up to 1.
  function likely(line, labels) {
    if (!Array.isArray(line.claim)) return [];
    const sum = line.claim.reduce((all, each) => all + each, 0);
    const shares = Object.fromEntries(labels.map((label, i) => [label, line.claim[i] / sum]));
    const first = line.decision === null ? "" : ` ${shares[line.decision].toFixed(3)} `;
    return [first, strip(shares, labels)];
  }

  function row(line, { labels }) {
    const votes = Object.values(line.first_votes).reduce((sum, count) => sum + count, 0);
    const shares = Object.fromEntries(Object.entries(line.first_votes).map(([label, count]) => [label, count / votes]));
    const most = Object.entries(line.first_votes).sort((a, b) => b[1] - a[1]).slice(0, 3);
    const first = most.flatMap(([label, count]) => [chip(label, labels), ` ${count} `]);
    const other = line.decision !== null && line.majority !== line.decision;
    const said = line.decision === null ? [chip(null, labels), html("span", { class: "soft", text: ` ${bare(line.why_undecided || "undecided")}` })] : [chip(line.decision, labels)];
    said.push(...likely(line, labels));
    if (other) said.push(html("span", { class: "soft", text: line.majority === null ? " first votes were level" : " not what most voted at first" }));
    return html("tr", {}, [
      html("th", { scope: "row", class: "number", text: String(line.input) }),
      cell(said), cell(percent(line.agreement), { class: "number" }), cell([strip(shares, labels), ...first], { class: "votes" }),
    ]);
  }

  async function rounds(state, motion, where) {
    const told = await Link.get(`/v1/motions/${motion.motion}/rounds`);
    const series = told.rounds.map((each) => (Object.keys(each.shares).length ? each.shares : null));
    if (series.length < 2 || !motion.labels.length) return;
    const changed = told.rounds.reduce((sum, each) => sum + each.changed, 0);
    where.replaceChildren(
      html("h3", { text: "Shares among those asked, round by round" }),
      chart(series, motion.labels, "shares of the labels among those whom this node asked, round by round"),
      key(motion.labels),
      html("p", { class: "soft small", text: `This node asked in ${many(told.played, "round")} and changed its mind on an input ${many(changed, "time")}.${told.played > series.length ? " Later rounds were not kept." : ""} It sees no more: what others said to each other is not known here.` }),
    );
  }

  function truths(state, motion) {
    const said = html("p", { class: "said-truth", role: "status" });
    const send = async (body, kind) => {
      try {
        const told = await Link.send("PUT", `/v1/motions/${motion.motion}/truth`, body, { "Content-Type": kind });
        said.className = "";
        said.textContent = `${many(told.told, "truth")} stored; track records are above.${told.warning ? ` ${told.warning}` : ""}`;
        state.recorded(told.records);
      } catch (error) {
        said.className = "bad";
        said.textContent = bare(error.message);
      }
    };
    const file = html("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv" });
    file.addEventListener("change", () => { if (file.files[0]) send(file.files[0], "text/csv"); });
    const number = html("input", { type: "number", min: 0, max: motion.inputs - 1, required: "", size: 6 });
    const label = html("select", {}, motion.labels.map((each) => html("option", { value: each, text: plain(each) })));
    const form = html("form", { class: "controls-line" }, [
      html("label", {}, ["input ", number]), html("label", {}, ["was ", label]), html("button", { type: "submit", class: "small-button", text: "Tell" }),
    ]);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(JSON.stringify({ truths: [{ input: Number(number.value), label: label.value }] }), "application/json");
    });
    return html("details", { class: "truths" }, [
      html("summary", { text: "Tell what was right" }),
      html("p", { class: "soft small", text: "This node keeps track records of first votes by it, for itself. A table with the columns input,label will do; the answers as CSV, put right, are one." }),
      html("label", { class: "controls-line" }, ["a table ", file]), form, said,
    ]);
  }

  async function draw(state, motion, where) {
    const body = html("tbody");
    const more = html("p", { class: "soft small" });
    const talk = html("div");
    const parts = [
      html("h3", { text: "Decisions" }),
      html("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Decisions in a table" }, [html("table", { class: "table" }, [head("input", ...(motion.labels.length ? LABELS : NUMBERS)), body])]),
      more, talk,
    ];
    if (motion.labels.length) parts.push(state.access.may === "ask" ? truths(state, motion) : html("p", { class: "soft small", text: "This token may only read: what was right can be told with the other one." }));
    where.replaceChildren(...parts);

    async function load(start, most) {
      const told = await Link.get(`/v1/motions/${motion.motion}/inputs?from=${start}&most=${most}`);
      body.append(...told.inputs.map((line) => (motion.labels.length ? row(line, motion) : numberRow(line))));
      const shown = `${(told.next ?? told.count).toLocaleString("en")} of ${many(told.count, "input")}`;
      more.replaceChildren(`${shown} ${told.next === null ? "are shown." : "are shown. "}`);
      if (told.next !== null) more.append(button(`Show ${Math.min(MORE, told.count - told.next)} more`, () => load(told.next, MORE).catch(state.failed), { class: "small-button" }));
    }
    try {
      await load(0, FIRST);
      await rounds(state, motion, talk);
    } catch (error) {
      state.failed(error);
    }
  }

  return { draw };
})();

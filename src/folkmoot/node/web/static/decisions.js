// What was decided on each input and why, with filters; how a talk went; and what was right, told afterwards.
"use strict";
const Decisions = (() => {
  const { html, bare, plain, percent } = Parts;
  const { many, chip, chart, key, head, cell, button, strip, list, digits } = Words;
  const FIRST = 25;
  const MORE = 200;
  const ONLY = { all: "all inputs", undecided: "undecided", contested: "contested: fewer than two thirds agree", overruled: "where my model was overruled" };
  const NUMBERS = ["number", "first votes: lowest, median, highest", "my model"];
  const LABELS = ["decision", "agree", "first votes", "my model"];
  const TEXTS = ["text", "agree", "proposed by, chosen by", "my model"];

  // A text that a member wrote: a long one is folded, and none is cut.
  const WHOLE = 160;
  function written(text, kind) {
    const all = bare(text);
    return all.length <= WHOLE ? html(kind, { text: all }) : html("details", { class: "written" }, [html("summary", {}, [html(kind, { text: plain(text) })]), html("p", { text: all })]);
  }
  const said = (value, labels) => (labels.length ? chip(value, labels) : typeof value === "string" ? written(value, "b") : html("b", { text: value === null ? "–" : digits(value) }));

  // Proposed texts, each with who proposed and who chose it; those that mean the same name the first of them.
  const proposed = (candidates) => candidates.map((each, i) => html("p", { class: "small" }, [
    html("b", { text: `${i + 1} ` }), written(each.text, "span"),
    html("span", { class: "soft", text: ` by ${list(each.proposed_by, 8)}; ${each.chosen_by.length ? `chosen by ${list(each.chosen_by, 8)}` : "chosen by nobody"}${each.same_as === i ? "" : `; the same as ${each.same_as + 1}`}` }),
  ]));

  // Counts of labels, means of probabilities, or where numbers lie.
  function votes(tally, labels) {
    if (!labels.length) return ["lowest", "median", "highest"].filter((name) => name in tally).map((name) => digits(tally[name])).join(", ");
    const all = Object.values(tally).reduce((sum, each) => sum + each, 0);
    const shares = Object.fromEntries(Object.entries(tally).map(([label, count]) => [label, count / (all || 1)]));
    const most = Object.entries(tally).sort((a, b) => b[1] - a[1]).slice(0, 3);
    return [strip(shares, labels), ...most.flatMap(([label, count]) => [chip(label, labels), ` ${Number.isInteger(count) ? count : count.toFixed(3)} `])];
  }

  function row(told, place, motion, state) {
    const { labels } = motion;
    const at = Object.fromEntries(Object.entries(told.lists).map(([name, values]) => [name, values[place]]));
    const input = told.inputs[place];
    const decision = at.decisions === null
      ? [labels.length ? chip(null, labels) : "", html("span", { class: "soft", text: ` ${bare(at.why_undecided || "undecided")}` })]
      : [said(at.decisions, labels)];
    const own = at.own_votes === undefined || at.own_votes === null
      ? [html("span", { class: "soft", text: "no vote" })]
      : [said(at.own_votes, labels), labels.length && at.decisions !== null && at.own_votes !== at.decisions ? html("span", { class: "soft", text: " overruled" }) : ""];
    const cells = [cell(decision)];
    const texts = motion.answers === "text";
    if (labels.length || texts) cells.push(cell(at.shares === null ? "" : percent(at.shares), { class: "number" }));
    cells.push(texts ? cell(proposed(at.candidates || [])) : cell(votes(at.first_votes, labels), { class: labels.length ? "votes" : "number" }), cell(own));
    const made = html("tr", {});
    const why = button("Why?", () => explain(made, why, motion, input, state), { class: "small-button", "aria-expanded": "false", "aria-label": `why input ${input}` });
    made.append(html("th", { scope: "row", class: "number", text: String(input) }), cell([why]), ...cells);
    return made;
  }

  const vote = (value, labels) =>
    value === null ? html("span", { class: "soft", text: "–" }) : typeof value === "object"
      ? html("span", { text: Object.entries(value).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([label, chance]) => `${plain(label)} ${chance.toFixed(3)}`).join(", ") })
      : said(value, labels);

  // Why an input got its answer, beneath its row: the sentences, and who voted what.
  async function explain(made, opener, motion, input, state) {
    if (opener.getAttribute("aria-expanded") === "true") {
      made.nextElementSibling.remove();
      opener.setAttribute("aria-expanded", "false");
      return;
    }
    opener.disabled = true;
    try {
      const { text, reason } = await Link.get(`/v2/motions/${motion.motion}/why?input=${input}`);
      const sentences = text.split("\n").filter((line) => line && !line.startsWith("  "));
      const voters = reason.voters || [];
      const final = voters.some((each) => each.final !== null);
      const weighs = voters.some((each) => each.weight !== 1 || each.own_weight !== null);
      const weight = (each) => digits(each.own_weight === null ? each.weight : each.own_weight);
      const rows = voters.map((each) => html("tr", {}, [
        html("th", { scope: "row", text: plain(each.name) }), cell([vote(each.first, motion.labels)]),
        ...(final ? [cell([vote(each.final, motion.labels)])] : []), ...(weighs ? [cell(weight(each), { class: "number" })] : []), cell(bare(each.note)),
      ]));
      const table = voters.length ? [html("table", { class: "table" }, [head("member", "first vote", ...(final ? ["final vote"] : []), ...(weighs ? ["counts"] : []), "note"), html("tbody", {}, rows)])] : [];
      const inside = html("td", { colspan: made.children.length }, [...sentences.map((line) => html("p", { class: "small", text: bare(line) })), ...table]);
      made.after(html("tr", { class: "why" }, [inside]));
      opener.setAttribute("aria-expanded", "true");
    } catch (error) {
      state.failed(error);
    }
    opener.disabled = false;
  }

  async function rounds(motion, where) {
    const told = await Link.get(`/v2/motions/${motion.motion}/rounds`);
    const series = told.rounds.map((each) => (Object.keys(each.shares).length ? each.shares : null));
    if (series.length < 2 || !motion.labels.length) return;
    const changed = told.rounds.reduce((sum, each) => sum + each.changed, 0);
    where.replaceChildren(
      html("h3", { text: "Shares among those asked, round by round" }),
      chart(series, motion.labels, "shares of the labels among those whom this node asked, round by round"),
      key(motion.labels),
      html("p", { class: "soft small", text: `This node asked in ${many(told.played, "round")} and changed its vote on an input ${many(changed, "time")}.${told.played > series.length ? " Earlier rounds were not kept." : ""}` }),
    );
  }

  function truths(state, motion) {
    const news = html("p", { class: "said-truth", role: "status" });
    const send = async (body, kind) => {
      try {
        const told = await Link.send("PUT", `/v2/motions/${motion.motion}/truth`, body, { "Content-Type": kind });
        news.className = "";
        news.textContent = `${many(told.told, "truth")} stored; track records are beside the participants.${told.warning ? ` ${told.warning}` : ""}`;
        state.recorded(told.records);
      } catch (error) {
        news.className = "bad";
        news.textContent = bare(error.message);
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
      html("label", { class: "controls-line" }, ["a table ", file]), form, news,
    ]);
  }

  async function draw(state, motion, where) {
    const body = html("tbody");
    const more = html("p", { class: "soft small", role: "status" });
    const talk = html("div");
    const kinds = Object.entries(ONLY).filter(([name]) => motion.labels.length || name === "all" || name === "undecided");
    const only = html("select", {}, kinds.map(([value, text]) => html("option", { value, text })));
    const parts = [
      html("h3", { text: "Decisions" }),
      html("label", { class: "controls-line" }, ["Show ", only]),
      html("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Decisions in a table" }, [html("table", { class: "table" }, [head("input", "why", ...(motion.answers === "text" ? TEXTS : motion.labels.length ? LABELS : NUMBERS)), body])]),
      more, talk,
    ];
    if (motion.labels.length) parts.push(state.access.may === "ask" ? truths(state, motion) : html("p", { class: "soft small", text: "This token may only read: what was right can be told with the other one." }));
    where.replaceChildren(...parts);

    let drawing = 0; // a filter chosen meanwhile makes what comes late useless
    async function load(start, most, mine) {
      const told = await Link.get(`/v2/motions/${motion.motion}/inputs?from=${start}&most=${most}&only=${only.value}`);
      if (mine !== drawing) return;
      body.append(...told.inputs.map((_, place) => row(told, place, motion, state)));
      const shown = body.querySelectorAll(":scope > tr:not(.why)").length;
      const what = only.value === "all" ? many(told.count, "input") : `${many(told.count, "input")} of this kind`;
      more.replaceChildren(told.count ? `${shown.toLocaleString("en")} of ${what} ${told.next === null ? "are shown." : "are shown. "}` : "There is none.");
      if (told.next !== null) more.append(button(`Show ${Math.min(MORE, told.count - shown)} more`, () => load(told.next, MORE, mine).catch(state.failed), { class: "small-button" }));
    }
    only.addEventListener("change", () => {
      body.replaceChildren();
      load(0, FIRST, ++drawing).catch(state.failed);
    });
    try {
      await load(0, FIRST, drawing);
      if (motion.rounds) await rounds(motion, talk);
    } catch (error) {
      state.failed(error);
    }
  }

  return { draw };
})();

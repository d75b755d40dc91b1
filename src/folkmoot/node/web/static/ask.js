// Ask the moot: drop or choose a table, see what the node makes of it, put it, follow it.
"use strict";
const Ask = (() => {
  const { html, bare, plain } = Parts;
  const { many, cell, list, facts, reasons } = Words;
  const MARKS = { fits: "✓", unknown: "✗ not known", missing: "✗ missing", unchecked: "" };
  // The words of --believe at the prompt, as terms.
  const BELIEVE = { plurality: {}, "dawid-skene": { rule: "dawid-skene" }, record: { rule: "weighted" }, own: { believe: "own" }, "peer-review": { believe: "own" } };
  let drawn = "";

  function terms(form) {
    const said = new URLSearchParams();
    for (const field of form.querySelectorAll("[data-term]:not(:disabled)")) {
      if (field.dataset.term === "whom") for (const [name, value] of Object.entries(BELIEVE[field.value])) said.set(name, value);
      else if (field.type === "checkbox" ? field.checked : field.value !== "") said.set(field.dataset.term, field.type === "checkbox" ? "true" : field.value);
    }
    return said.toString();
  }

  function preview(told, file) {
    const columns = told.columns.filter((column) => column.state !== "missing");
    const missing = told.columns.filter((column) => column.state === "missing");
    const width = told.rows[0] ? told.rows[0].length : 0;
    const named = columns.length ? columns : Array.from({ length: width }, (_, i) => ({ name: `column ${i + 1}`, state: "unchecked", unit: "" }));
    const most = 12;
    const heads = named.slice(0, most).map((column) =>
      html("th", { scope: "col", class: column.state === "unknown" ? "bad" : "" }, [plain(column.name), html("small", { text: ` ${[plain(column.unit || ""), MARKS[column.state]].filter(Boolean).join(" ")}` })]));
    const rows = told.rows.map((row) => html("tr", {}, row.slice(0, most).map((value) => cell(value === null ? "missing" : String(value), { class: value === null ? "number soft" : "number" }))));
    const notes = [];
    if (named.length > most) notes.push(`${named.length - most} further columns are not shown.`);
    if (told.inputs > told.rows.length) notes.push(`The first ${told.rows.length} of ${told.inputs.toLocaleString("en")} rows.`);
    if (told.missing) notes.push(`${many(told.missing, "input")} with missing values: models that cannot take them abstain.`);
    if (told.outside) notes.push(`${many(told.outside, "input")} with a value outside a declared range: this node abstains there.`);
    if (told.unchecked) notes.push(`Columns are taken by position: ${bare(told.unchecked)}.`);
    const verdict = told.why
      ? html("p", { class: "bad", text: `This node cannot take it: ${bare(told.why)}.` })
      : html("p", {}, [html("b", { class: "good", text: told.unchecked ? "It can be put" : "The columns are those of this node's model" }), `: ${many(told.inputs, "input")} of ${many(width, "column")}; ${answersOf(told)}.`]);
    return [
      html("h3", { text: plain(file.name) }), verdict,
      missing.length ? html("p", { class: "bad", text: `Missing: ${list(missing.map((column) => column.name))}.` }) : null,
      html("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "The first rows" }, [html("table", { class: "table preview" }, [html("thead", {}, [html("tr", {}, heads)]), html("tbody", {}, rows)])]),
      html("p", { class: "soft small", text: notes.join(" ") }),
    ].filter(Boolean);
  }

  function answersOf(told) {
    if (told.answers === "numbers" || told.answers === "text") return `answers are ${told.answers}`;
    return `answers are ${told.answers === "probabilities" ? "how likely each is of " : ""}${list(told.labels, 8)}`;
  }

  const box = (name, attributes = {}) => html("input", { "data-term": name, type: "checkbox", ...attributes });
  const number = (name, attributes = {}) => html("input", { "data-term": name, type: "number", ...attributes });
  const text = (name, attributes = {}) => html("input", { "data-term": name, type: "text", ...attributes });
  const choice = (name, choices) => html("select", { "data-term": name }, choices.map(([value, words]) => html("option", { value, text: words })));
  const RULES = { probabilities: ["mean", "log"], numbers: ["trimmed-mean", "median"] };

  // The terms of folkmoot ask: each field with its words, and when it means something. What does not go together is said by the node,
  // in the words of the prompt.
  function fieldsOf(state) {
    const { access } = state;
    const about = (field, words, wanted, after = "") => ({ field, wanted, label: html("label", {}, field.type === "checkbox" ? [field, ` ${words}`] : [`${words} `, field, after]) });
    const any = () => true;
    const talks = (now) => now.protocol !== "";
    const rules = Object.entries(RULES).map(([kind, names]) => about(choice("rule", names.filter((name) => access.rules.includes(name)).map((name, i) => [i ? name : "", plain(name)])), "rule", (now) => now.answers === kind && now.whom === "plurality"));
    const whom = Object.keys(BELIEVE).filter((name) => access.answers.includes("labels") || !("rule" in BELIEVE[name])).filter((name) => !("rule" in BELIEVE[name]) || access.rules.includes(BELIEVE[name].rule));
    return {
      first: [
        about(choice("answers", access.answers.map((kind) => [kind, kind])), "answers are", () => access.answers.length > 1),
        about(text("labels", { size: 16, placeholder: "yes,no" }), "which labels", (now) => !["numbers", "text"].includes(now.answers) && access.labels === null),
        ...rules,
        about(number("seconds", { min: 1, max: 86400, value: 30, step: "any" }), "answer within", any, " s"),
      ],
      believes: [
        about(choice("whom", whom.map((name) => [name, name])), "believe", (now) => now.answers !== "text"),
        about(number("rows", { min: 1, max: 1000, value: 10 }), "validation rows per member", (now) => now.whom === "peer-review"),
        about(choice("protocol", [["", "council"], ...["slush", "snowflake", "snowball"].map((name) => [name, name])]), "protocol", (now) => !["numbers", "text"].includes(now.answers) && now.whom === "plurality"),
      ],
      more: [
        about(number("least", { min: 1, placeholder: "f + 1" }), "first votes that a label needs", (now) => now.answers !== "numbers"),
        about(box("coin"), "a coin settles ties", (now) => now.answers !== "numbers"),
        about(number("k", { min: 1, placeholder: "10" }), "members asked per round (k)", talks),
        about(text("alpha", { size: 6, placeholder: "most" }), "matching answers that change a vote (alpha)", talks),
        about(number("beta", { min: 1, placeholder: "20" }), "wins in a row that decide (beta)", (now) => talks(now) && now.protocol !== "slush"),
        about(number("rounds", { min: 1, max: 10000, placeholder: "50" }), "rounds", talks),
        about(number("step", { min: 0, step: "any", placeholder: "0.000001" }), "numbers are rounded to", (now) => now.answers === "numbers"),
      ],
    };
  }

  // All fields; those that mean nothing beside others are not shown, and not sent.
  function termsOf(state) {
    const { first, believes, more } = fieldsOf(state);
    const all = [...first, ...believes, ...more];
    const chosen = (name) => all.find(({ field }) => field.dataset.term === name).field;
    const fit = () => {
      const now = { answers: chosen("answers").value, whom: chosen("whom").value, protocol: chosen("protocol").value };
      if (now.answers !== "labels" && "rule" in BELIEVE[now.whom]) now.whom = chosen("whom").value = "plurality";
      if (now.answers === "text") now.whom = chosen("whom").value = "plurality";
      if (["numbers", "text"].includes(now.answers) || now.whom !== "plurality") now.protocol = "";
      for (const { label, field, wanted } of all) label.hidden = field.disabled = !wanted(now);
      chosen("answers").disabled = false;
    };
    for (const name of ["answers", "whom", "protocol"]) chosen(name).addEventListener("change", fit);
    fit();
    const line = (fields) => html("div", { class: "controls-line" }, fields.map(({ label }) => label));
    return [line(first), line(believes), html("details", { class: "more-terms" }, [html("summary", { text: "More terms" }), line(more)])];
  }

  // How far the motion is that was put here, beside the button that put it.
  function drawAsked(state) {
    const where = document.getElementById("asking");
    if (!where || !state.asked) return;
    const motion = state.motions.find((each) => each.motion === state.asked);
    if (!motion) return;
    const live = state.live.get(state.asked);
    const link = html("a", { href: "#motion-title", "data-key": "to the answers", text: live ? "Follow it" : "See the answers" });
    link.addEventListener("click", (event) => { event.preventDefault(); state.choose(motion.motion); document.getElementById("motion-title").scrollIntoView(); });
    if (live) return fresh(where, [html("p", {}, [html("b", { text: `Motion ${Words.short(motion.motion)}: ${live.phase}. ` }), link]), ...Motion.standing(live, motion)]);
    const decided = motion.inputs - motion.undecided;
    fresh(where, [html("p", {}, [html("b", { class: decided === motion.inputs ? "good" : "", text: `${decided.toLocaleString("en")} of ${many(motion.inputs, "input")} decided. ` }), link])]);
  }

  // Who has sent validation rows for a motion of this node that is not put yet, who will not and why.
  function drawInvited(state) {
    const where = document.getElementById("invited");
    if (!where) return;
    fresh(where, state.moot.invitations.flatMap((each) => {
      const all = each.sent.length + Object.keys(each.refused).length + each.owing.length;
      return [
        html("h3", { text: `Validation rows for ${many(each.inputs, "input")}: ${all - each.owing.length} of ${all} have answered` }),
        facts([
          ["sent rows", list(each.sent, 30)],
          ["sent none", reasons(each.refused)],
          ["not yet answered", list(each.owing, 30)],
        ]),
      ];
    }));
  }

  function build(state, where) {
    const zone = html("div", { class: "drop" });
    const choose = html("input", { type: "file", id: "file", accept: ".csv,.tsv,.txt,text/csv" });
    const found = html("div", { class: "found", "aria-live": "polite" });
    const form = html("form", { class: "terms" });
    const put = html("button", { type: "submit", class: "main", text: "Put it to the moot", disabled: "" });
    let file = null;
    let key = "";

    const complain = (words) => {
      put.disabled = true;
      found.replaceChildren(html("p", { class: "bad", role: "alert", text: bare(words) }));
    };

    let looking = Promise.resolve();
    // A changed term is looked at when its field is left, perhaps for the button: that stays, and waits for what is found.
    async function look(chosen, again = false) {
      file = chosen;
      key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
      if (!again) put.disabled = true;
      if (!file) return;
      if (file.size > state.access.most_bytes) return complain(`A table must have at most ${state.access.most_bytes.toLocaleString("en")} bytes here: put more with folkmoot ask.`);
      // What was found stays until something else is: a button that moves away from under the pointer is not pressed.
      if (!again) found.replaceChildren(html("p", { class: "soft", text: "The node looks at it; nobody else is told." }));
      try {
        const told = await Link.send("POST", `/v2/check?${terms(form)}`, file, { "Content-Type": "text/csv" });
        if (file !== chosen) return;
        found.replaceChildren(...preview(told, file));
        put.disabled = told.why !== "";
        put.textContent = `Put ${many(told.inputs, "input")} to the moot`;
      } catch (error) {
        complain(error.message);
      }
    }

    async function send() {
      put.disabled = true;
      const rows = form.querySelector("[data-term=rows]");
      const invites = !rows.disabled && rows.value > 0;
      if (invites) found.replaceChildren(html("p", { class: "soft", text: "Members are invited to send validation rows; then it is put, with their rows among yours." }));
      try {
        const told = await Link.send("POST", `/v2/motions?${terms(form)}`, file, { "Content-Type": "text/csv", "Idempotency-Key": key });
        key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
        found.replaceChildren();
        state.asked = told.motion;
        choose.value = "";
        file = null;
        put.textContent = "Put it to the moot";
        await state.follow(told.motion);
      } catch (error) {
        complain(error.message);
        if (invites) state.lookAtMotions().catch(() => {}); // it is kept that nothing was put, and why
      }
    }

    choose.addEventListener("change", () => { looking = look(choose.files[0] || null); });
    for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
    for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length !== 1) return complain("Drop one table, not several.");
      looking = look(event.dataTransfer.files[0]);
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await looking;
      if (file && !put.disabled) send();
    });
    form.addEventListener("change", () => { if (file) looking = look(file, true); });

    form.append(...termsOf(state), put, html("div", { id: "asking", class: "asking", role: "status" }));
    const { columns } = state.access;
    const wants = columns.length ? `This node's model takes ${list(columns.map((column) => (column.unit ? `${column.name} (${column.unit})` : column.name)), 10)}.` : state.access.width ? `This node's model takes ${many(state.access.width, "column")}.` : "";
    zone.append(html("label", { for: "file" }, [html("b", { text: "Drop a table here" }), ", or choose a file: CSV with one line per input and names in the first line. "]), choose);
    fresh(where, [html("p", { class: "soft", text: `${wants} The inputs are shown to all participants. ${state.access.labels ? `Answers are ${list(state.access.labels, 8)}.` : ""}` }), zone, found, form, html("div", { id: "invited", role: "status" })]);
  }

  const fresh = (where, children) => where.replaceChildren(...children);

  function draw(state) {
    const mark = JSON.stringify(state.access);
    if (mark === drawn) {
      drawAsked(state);
      return drawInvited(state);
    }
    drawn = mark;
    const where = document.getElementById("ask");
    if (state.access.may !== "ask") {
      fresh(where, [html("p", { class: "limits", text: "This token may only read, so nothing can be asked here. Whoever may ask has the token in the file 'token' of the node's folder: folkmoot node status prints the address with it." })]);
      return;
    }
    build(state, where);
  }

  return { draw, forget() { drawn = ""; } };
})();

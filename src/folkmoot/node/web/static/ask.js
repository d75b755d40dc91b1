// Ask the moot: drop or choose a table, see what the node makes of it, put it, follow it.
"use strict";
const Ask = (() => {
  const { html, bare, plain } = Parts;
  const { many, cell, list, facts, reasons } = Words;
  const MARKS = { fits: "✓", unknown: "✗ not known", missing: "✗ missing", unchecked: "" };
  const KINDS = { labels: "labels", probabilities: "probabilities", numbers: "numbers" };
  const SAID = { labels: {}, probabilities: { voting: "probabilities" }, numbers: { regression: "true" } };
  let drawn = "";

  function terms(form) {
    const said = new URLSearchParams(SAID[form.querySelector("[data-kinds]").value]);
    for (const field of form.querySelectorAll("[data-term]:not(:disabled)")) {
      if (field.type === "checkbox" ? field.checked : field.value !== "") said.set(field.dataset.term, field.type === "checkbox" ? "true" : field.value);
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
    if (told.answers === "numbers") return `answers are numbers: one is claimed where a quorum signs numbers within ${told.tol} of each other`;
    if (told.answers === "probabilities") return `answers are how likely each of ${list(told.labels, 8)} is, within ${told.tol}`;
    return `answers are ${list(told.labels, 8)}`;
  }

  const WEIGHTS = { equal: "equal", record: "by track record", learnt: "learnt from truths told" };
  const box = (name, attributes = {}) => html("input", { "data-term": name, type: "checkbox", ...attributes });
  const number = (name, attributes = {}) => html("input", { "data-term": name, type: "number", ...attributes });
  const choice = (name, choices) => html("select", { "data-term": name }, choices.map(([value, text]) => html("option", { value, text })));

  // The terms of folkmoot ask: each field with its words, and for which talks it means something. What does not go together is said by
  // the node, in the words of the prompt.
  function fieldsOf(state) {
    const { access } = state;
    const about = (field, words, wanted, after = "") => ({ field, wanted, label: html("label", {}, field.type === "checkbox" ? [field, ` ${words}`] : [`${words} `, field, after]) });
    const labels = (talk) => talk === "labels";
    const any = () => true;
    const within = number("tol", { min: 0, step: "any" });
    const review = box("peer_review");
    return {
      within,
      review,
      first: [
        about(within, "within (tol)", (talk) => talk !== "labels"),
        about(html("input", { "data-term": "labels", type: "text", size: 16, placeholder: "yes,no" }), "which labels", (talk) => talk !== "numbers" && access.labels === null),
        about(number("seconds", { min: 2, max: 86400, value: 30, step: "any" }), "answer within", () => true, " s"),
        about(number("rounds", { min: 1, max: 500, value: 50 }), "rounds", any),
        about(choice("protocol", access.protocols.map((name) => [name, plain(name)])), "protocol", labels),
      ],
      believes: [
        about(choice("weights", Object.entries(WEIGHTS)), "answers weigh", () => true),
        about(box("trust"), "learn whom to trust first", labels),
        about(review, "peer review: invite check rows", () => true),
      ],
      more: [
        about(number("k", { min: 1, placeholder: "10" }), "peers asked a round (k)", any),
        about(html("input", { "data-term": "alpha", type: "text", size: 6, placeholder: "most" }), "equal answers that win (alpha)", labels),
        about(number("beta", { min: 1, placeholder: "20" }), "rounds in a row that decide (beta)", labels),
        about(number("least_voters", { min: 1 }), "first votes that a label needs", any),
        about(number("pace", { min: 0.001, step: "any", placeholder: "0.02" }), "pace", () => true, " s"),
      ],
    };
  }

  // What is to be answered, as far as the node's own model can; and all fields that go with it.
  function termsOf(state) {
    const { access } = state;
    const kinds = html("select", { "data-kinds": "" }, access.answers.map((kind) => html("option", { value: kind, text: KINDS[kind] })));
    const { within, review, first, believes, more } = fieldsOf(state);
    const fit = () => {
      // By peer review each makes labels of the probabilities that are handed in, and these are talked about.
      const talk = kinds.value === "probabilities" && review.checked ? "labels" : kinds.value;
      for (const { label, field, wanted } of [...first, ...believes, ...more]) label.hidden = field.disabled = !wanted(talk);
      within.required = kinds.value === "numbers";
      within.placeholder = kinds.value === "numbers" ? "0.5" : "0.01";
    };
    for (const field of [kinds, review]) field.addEventListener("change", fit);
    fit();
    const line = (fields) => html("div", { class: "controls-line" }, fields.map(({ label }) => label));
    const top = line(first);
    top.prepend(html("label", { hidden: access.answers.length < 2 ? "" : null }, ["answers are ", kinds]));
    return [top, line(believes), html("details", { class: "more-terms" }, [html("summary", { text: "More terms" }), line(more)])];
  }

  // Who has sent check rows for a motion of this node that is not put yet, who will not and why.
  function drawInvited(state) {
    const where = document.getElementById("invited");
    if (!where) return;
    fresh(where, state.moot.invitations.flatMap((each) => {
      const all = Object.keys(each.sent).length + Object.keys(each.refused).length + each.owing.length;
      return [
        html("h3", { text: `Check rows for ${many(each.inputs, "input")}: ${all - each.owing.length} of ${all} have answered` }),
        facts([
          ["sent rows", list(Object.entries(each.sent).map(([name, rows]) => `${name} ${rows}`), 30)],
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
      if (file.size > state.access.most_bytes) return complain(`A table must have at most ${state.access.most_bytes.toLocaleString("en")} bytes here: put more with folkmoot ask --via.`);
      // What was found stays until something else is: a button that moves away from under the pointer is not pressed.
      if (!again) found.replaceChildren(html("p", { class: "soft", text: "The node looks at it; nobody else is told." }));
      try {
        const told = await Link.send("POST", `/v1/check?${terms(form)}`, file, { "Content-Type": "text/csv" });
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
      const invites = form.querySelector("[data-term=peer_review]").checked;
      if (invites) found.replaceChildren(html("p", { class: "soft", text: "Participants are invited to send check rows; then it is put, with their rows among yours." }));
      try {
        const told = await Link.send("POST", `/v1/motions?${terms(form)}`, file, { "Content-Type": "text/csv", "Idempotency-Key": key });
        key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
        found.replaceChildren(html("p", {}, [html("b", { class: "good", text: "It is put. " }), "The moot talks; the answers appear under ", html("a", { href: "#motion-title", text: `motion ${told.motion.slice(0, 8)}` }), "."]));
        found.querySelector("a").addEventListener("click", (event) => { event.preventDefault(); document.getElementById("motion-title").scrollIntoView(); });
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

    form.append(...termsOf(state), put);
    const { columns } = state.access;
    const wants = columns.length ? `This node's model takes ${list(columns.map((column) => (column.unit ? `${column.name} (${column.unit})` : column.name)), 10)}.` : state.access.width ? `This node's model takes ${many(state.access.width, "column")}.` : "";
    zone.append(html("label", { for: "file" }, [html("b", { text: "Drop a table here" }), ", or choose a file: CSV with a line an input and names in the first line. "]), choose);
    fresh(where, [html("p", { class: "soft", text: `${wants} The inputs are shown to all participants. ${state.access.labels ? `Answers are ${list(state.access.labels, 8)}.` : ""}` }), zone, found, form, html("div", { id: "invited", role: "status" })]);
  }

  const fresh = (where, children) => where.replaceChildren(...children);

  function draw(state) {
    const mark = JSON.stringify(state.access);
    if (mark === drawn) return drawInvited(state);
    drawn = mark;
    const where = document.getElementById("ask");
    if (state.access.may !== "ask") {
      fresh(where, [html("p", { class: "limits", text: "This token may only read, so nothing can be asked here. Whoever may ask has the token in the file 'token' of the node's folder: folkmoot node page FOLDER prints the address with it." })]);
      return;
    }
    build(state, where);
  }

  return { draw, forget() { drawn = ""; } };
})();

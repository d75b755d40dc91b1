// Ask the moot: drop or choose a table, see what the node makes of it, put it, follow it.
"use strict";
const Ask = (() => {
  const { html, bare, plain } = Parts;
  const { many, button, cell, list } = Words;
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

  // What is to be answered: labels, their probabilities or numbers, as far as the node's own model can; and what goes with each.
  function kinds(state) {
    const choose = html("select", { "data-kinds": "" }, state.access.answers.map((kind) => html("option", { value: kind, text: KINDS[kind] })));
    const within = html("input", { "data-term": "tol", type: "number", min: 0, step: "any" });
    const labels = html("input", { "data-term": "labels", type: "text", size: 16, placeholder: "yes,no" });
    const trust = html("input", { "data-term": "trust", type: "checkbox" });
    const fields = [
      [html("label", {}, ["within (tol) ", within]), within, (kind) => kind !== "labels"],
      [html("label", {}, ["which labels ", labels]), labels, (kind) => kind === "labels" && state.access.labels === null],
      [html("label", {}, [trust, " learn whom to trust first"]), trust, (kind) => kind === "labels"],
    ];
    const fit = () => {
      for (const [label, field, wanted] of fields) label.hidden = field.disabled = !wanted(choose.value);
      within.required = choose.value === "numbers";
      within.placeholder = choose.value === "numbers" ? "0.5" : "0.01";
    };
    choose.addEventListener("change", fit);
    fit();
    return [html("label", { hidden: state.access.answers.length < 2 ? "" : null }, ["answers are ", choose]), ...fields.map(([label]) => label)];
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
      found.replaceChildren(html("p", { class: "soft", text: "The node looks at it; nobody else is told." }));
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

    const term = (words, name, attributes, unit = "") => html("label", {}, [`${words} `, html("input", { "data-term": name, ...attributes }), unit]);
    form.append(
      html("div", { class: "controls-line" }, [
        term("answer within", "seconds", { type: "number", min: 2, max: 86400, value: 30, step: "any" }, " s"),
        term("rounds", "rounds", { type: "number", min: 1, max: 500, value: 50 }),
        ...kinds(state),
      ]), put);
    const { columns } = state.access;
    const wants = columns.length ? `This node's model takes ${list(columns.map((column) => (column.unit ? `${column.name} (${column.unit})` : column.name)), 10)}.` : state.access.width ? `This node's model takes ${many(state.access.width, "column")}.` : "";
    zone.append(html("label", { for: "file" }, [html("b", { text: "Drop a table here" }), ", or choose a file: CSV with a line an input and names in the first line. "]), choose);
    fresh(where, [html("p", { class: "soft", text: `${wants} The inputs are shown to all participants. ${state.access.labels ? `Answers are ${list(state.access.labels, 8)}.` : ""}` }), zone, found, form]);
  }

  const fresh = (where, children) => where.replaceChildren(...children);

  function draw(state) {
    const mark = JSON.stringify(state.access);
    if (mark === drawn) return;
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

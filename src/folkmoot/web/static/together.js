// All nodes of a local moot together: what each holds, how far it is, whom it accuses; by their own events.
"use strict";
const Together = (() => {
  const { html, plain } = Parts;
  const { many, short, chart, key, fresh, head, cell, ring, strip, bars, button } = Words;
  const $ = (id) => document.getElementById(id);
  const KEY = [["there", "", "talks or waits"], ["closed", "✓", "has signed its answers"], ["away", "?", "gone"], ["accused", "", "accused by others, or started as a liar"]];

  // How many honest nodes accuse each.
  function accusations(nodes) {
    const found = new Map();
    for (const node of nodes) for (const name of node.lies ? [] : node.accuses) found.set(name, (found.get(name) || 0) + 1);
    return found;
  }

  const stands = (node) => (!node.there ? "away" : node.phase === "over" || node.phase === "closing" ? "closed" : "there");

  function drawRing(motion, nodes, accused) {
    const dots = nodes.map((node) => {
      const kind = stands(node);
      const by = accused.get(node.name) || 0;
      const says = [node.lies ? "was started as a liar" : "", by ? `accused by ${by}` : "", node.there ? node.phase : "gone"].filter(Boolean).join(", ");
      const mark = by ? "!" : (KEY.find(([each]) => each === kind) || ["", ""])[1];
      return { name: node.name, kind, mark, liar: by > 0 || node.lies, own: motion !== null && node.name === motion.asker, says };
    });
    const there = nodes.filter((node) => node.there).length;
    ring($("all-ring"), dots, "", [], `${many(nodes.length, "node")} on a ring, ${there} there, ${accused.size} accused`);
    const drawn = new Set(dots.flatMap((dot) => (dot.liar ? [dot.kind, "accused"] : [dot.kind])));
    fresh($("all-key"), KEY.filter(([kind]) => drawn.has(kind)).map(([kind, mark, words]) =>
      html("li", {}, [html("span", { class: `spot ${kind}`, "aria-hidden": "true", text: mark }), ` ${words}`])));
  }

  function drawWords(motion, nodes, accused) {
    const there = nodes.filter((node) => node.there).length;
    const liars = nodes.filter((node) => node.lies);
    $("title").textContent = `A moot of ${many(nodes.length, "node")} on this machine`;
    document.title = "A moot on this machine: folkmoot";
    $("about").textContent = motion
      ? `Motion ${short(motion.motion)} of ${plain(motion.asker)}: ${many(motion.inputs, "input")}, ${motion.labels.length ? many(motion.labels.length, "label") : "numbers"}. ${there} of ${nodes.length} nodes are there.`
      : there ? `${there} of ${nodes.length} nodes are there; nothing has been put to them yet.` : "The nodes are starting.";
    const caught = liars.filter((node) => accused.has(node.name)).length;
    $("all-about").textContent = liars.length
      ? `${many(liars.length, "node")} of ${nodes.length} ${liars.length === 1 ? "was started as a liar" : "were started as liars"}, and the others do not know which. ${caught} of them ${caught === 1 ? "is" : "are"} accused: a lie is proved only if it contradicts what its teller signed.`
      : there ? "All nodes were started as honest ones." : "";
  }

  function drawHeld({ motion, series }, honest) {
    if (!motion || !series.length) {
      fresh($("all-held"), [html("p", { class: "soft", text: motion ? "They have not begun to talk." : "Nothing has been put to them yet." })]);
      return;
    }
    fresh($("all-held"), [
      html("p", { class: "soft small", text: `Shares of the labels in what the ${honest.length} honest nodes hold, on all ${many(motion.inputs, "input")}: now, and since the talk began.` }),
      ...bars(series[series.length - 1], motion.labels),
      ...(series.length > 1 ? [chart(series, motion.labels, "what honest nodes hold, since the talk began", false)] : []),
      key(motion.labels),
      html("p", { class: "limits", text: "No single node sees this: each knows its own questions alone. It is put together here because all of them run on this machine." }),
    ]);
  }

  function drawTable(motion, nodes, accused, honest, look) {
    const rows = nodes.map((node) => html("tr", {}, [
      html("th", { scope: "row" }, [button(plain(node.name), () => look(node.name), { class: "pick", "data-key": node.name, "aria-label": `what ${plain(node.name)} sees` }), node.lies ? html("span", { class: "bad", text: " lies" }) : null]),
      cell(!node.there ? "gone" : node.phase ? `${node.phase}${node.phase === "talking" ? `, round ${node.round}` : ""}` : "waits"),
      cell(motion && Object.keys(node.held).length ? [strip(node.held, motion.labels)] : ""),
      cell(node.undecided === null || !motion ? "" : `${motion.inputs - node.undecided} of ${motion.inputs}`, { class: "number" }),
      cell(node.accuses.map(plain).join(", "), { class: "bad" }),
      cell(accused.has(node.name) ? `by ${accused.get(node.name)} of ${honest.length}` : "", { class: "number bad" }),
    ]));
    fresh($("all-nodes"), [head("node", "phase", "holds", "decided", "accuses", "is accused"), html("tbody", {}, rows)]);
  }

  function draw(told, look) {
    const { motion, nodes } = told;
    const accused = accusations(nodes);
    const honest = nodes.filter((node) => !node.lies);
    drawWords(motion, nodes, accused);
    drawRing(motion, nodes, accused);
    drawHeld(told, honest);
    drawTable(motion, nodes, accused, honest, look);
  }

  return { draw };
})();

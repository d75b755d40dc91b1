// Who is in the moot, as this node sees it: reachable, benched, away, accused; latency, trust, track records, evidence.
"use strict";
const Moot = (() => {
  const { html, bare, plain, percent } = Parts;
  const { byName, many, short, time, ago, clock, list, digits, fresh, head, cell, ring, saving } = Words;
  const KEY = [["there", "", "connected"], ["committed", "•", "has fixed its votes"], ["closed", "✓", "has said what was decided"], ["benched", "…", "benched: did not answer lately"], ["away", "?", "away: no connection"], ["accused", "", "accused: there is evidence"]];

  const accusedBy = (state) => {
    const found = new Map();
    for (const each of state.accusations) found.set(each.participant, [...(found.get(each.participant) || []), each]);
    return found;
  };

  // The newest motion in which this node chose what first votes count in its own final votes.
  const weighing = (state) => state.motions.findLast((motion) => Object.keys(motion.weights).length);

  const standing = (peer) => (!peer.connected ? "away" : peer.benched ? "benched" : "connected");

  function everybody(state) {
    const own = { name: state.moot.node, connected: true, benched: false, latency: null, seen: null, own: true };
    return [own, ...state.moot.peers].sort((a, b) => byName(a.name, b.name));
  }

  function drawRing(state, accused) {
    const live = state.live.get(state.under);
    const seen = (live && live.detail) || { committed: [], closed: [], asked: [] };
    const dots = everybody(state).map((peer) => {
      const caught = accused.has(peer.name);
      const standingNow = peer.own ? "this node" : standing(peer);
      let kind = standingNow === "away" ? "away" : standingNow === "benched" ? "benched" : "there";
      if (kind === "there" && seen.closed.includes(peer.name)) kind = "closed";
      else if (kind === "there" && seen.committed.includes(peer.name)) kind = "committed";
      const mark = caught ? "!" : (KEY.find(([each]) => each === kind) || ["", ""])[1];
      return { name: peer.name, kind, mark, liar: caught, own: peer.own, says: `${standingNow}${caught ? ", accused" : ""}` };
    });
    const asks = live ? seen.asked : [];
    const away = dots.filter((dot) => dot.kind === "away").length;
    ring(document.getElementById("ring"), dots, state.moot.node, asks,
      `${many(dots.length, "participant")} on a ring, ${away} away, ${accused.size} accused${asks.length ? `; ${plain(state.moot.node)} asks ${many(asks.length, "other")}` : ""}`);
    const drawn = new Set([...dots.map((dot) => dot.kind), ...(accused.size ? ["accused"] : [])]);
    fresh(document.getElementById("ring-key"), KEY.filter(([kind]) => drawn.has(kind)).map(([kind, mark, words]) =>
      html("li", {}, [html("span", { class: `spot ${kind}`, "aria-hidden": "true", text: mark }), ` ${words}`])));
  }

  function drawTable(state, accused) {
    const weighed = weighing(state);
    const most = weighed ? Math.max(...Object.values(weighed.weights), 1e-9) : 1;
    const told = Object.keys(state.records).length > 0;
    const names = ["participant", "state", ...(weighed ? ["counts"] : []), ...(told ? ["record"] : []), "last seen", "latency"];
    const rank = (peer) => (accused.has(peer.name) ? 0 : standing(peer) === "away" ? 1 : standing(peer) === "benched" ? 2 : 3);
    const rows = everybody(state).sort((a, b) => rank(a) - rank(b) || byName(a.name, b.name)).map((peer) => {
      const now = peer.own ? "this node" : standing(peer);
      const words = [html("span", { class: `state ${now.split(" ")[0]}`, text: now })];
      if (accused.has(peer.name)) words.push(html("b", { class: "bad", text: " accused" }));
      const record = state.records[peer.name];
      const weight = weighed && weighed.weights[peer.name];
      const cells = [cell(words)]; // what is learnt of a peer stands first: a phone shows some columns
      if (weighed) {
        const bar = html("span", { class: "bar" });
        bar.style.width = percent((weight || 0) / most, 1);
        cells.push(cell([html("span", { class: "gauge" }, [bar]), ` ${weight === undefined ? "" : weight.toFixed(2)}`], { class: "number" }));
      }
      if (told) cells.push(cell(record ? `${record.right} of ${record.voted} right` : "", { class: "number" }));
      cells.push(
        cell(peer.own ? "" : peer.seen === null ? "not yet" : ago(peer.seen), { class: "number" }),
        cell(peer.latency === null ? "" : `${(1000 * peer.latency).toFixed(1)} ms`, { class: "number" }),
      );
      return html("tr", {}, [html("th", { scope: "row", text: plain(peer.name) }), ...cells]);
    });
    fresh(document.getElementById("peers"), [head(...names), html("tbody", {}, rows)]);
    const notes = [];
    if (weighed) notes.push(`Counts: what the first votes of each counted in this node's own final votes, in motion ${short(weighed.motion)}.`);
    const last = state.motions.findLast((motion) => motion.effective_votes !== null);
    if (last) notes.push(`In motion ${short(last.motion)} the votes of ${many(last.took_part.length, "member")} were worth at least ${digits(last.effective_votes)} independent ones${last.alike.length ? `; ${list(last.alike[0])} depart from the decisions together` : ""}.`);
    if (told) notes.push("Records are of first votes, where this node was told what was right; it keeps them for itself.");
    document.getElementById("peers-note").textContent = notes.join(" ");
  }

  function drawAccused(state, accused) {
    const where = document.getElementById("accused");
    const open = new Set([...where.querySelectorAll("details[open]")].map((each) => each.dataset.who));
    fresh(where, [...accused].map(([name, all]) => {
      const lines = all.slice(-20).reverse().map((each) => {
        const motion = state.motions.find((one) => one.motion === each.motion);
        const file = `${short(each.motion || each.roster)}-${name.replace(/[^\w.-]/g, "_")}.evidence`;
        const where = each.motion ? ` in motion ${short(each.motion)}${motion ? `, ${clock(motion.created)}` : ""} ` : ` of the roster of epoch ${each.epoch} `;
        return html("li", {}, [html("b", { text: plain(each.what) }), where, saving("Download evidence", `/v2/evidence/${each.motion || each.roster}/${encodeURIComponent(name)}`, file, state.tell)]);
      });
      const made = html("details", { class: "evidence", "data-who": name, open: open.has(name) ? "" : null }, [
        html("summary", { "data-key": `evidence ${name}` }, [html("b", { class: "bad", text: plain(name) }), ` contradicted itself ${many(all.length, "time")}`]),
        html("ul", {}, lines),
        html("p", { class: "soft small", text: "Its own signatures prove it: folkmoot verify FILE checks that, anywhere. A restored back-up, or two nodes with one key, look like this, too." }),
      ]);
      return made;
    }));
  }

  // What is wrong with rosters: whether this node is in the one in force, and who signed two.
  function rosters(moot) {
    const said = [];
    if (!moot.present) said.push(" NOT IN THE ROSTER IN FORCE: it cannot ask any more.");
    if (moot.proposals.length) said.push(" A new roster is proposed.");
    for (const name of moot.accused) said.push(` EVIDENCE: ${plain(name)} contradicted itself about the roster that comes next.`);
    if (moot.model.trouble) said.push(` THE MODEL FAILS: ${bare(moot.model.trouble)}.`);
    if (moot.waiting) said.push(` ${many(moot.waiting, "own motion")} wait for a place.`);
    return said.join("");
  }

  function draw(state) {
    const { moot } = state;
    const accused = accusedBy(state);
    const reached = moot.peers.filter((peer) => peer.connected).length + 1;
    document.getElementById("title").textContent = `${plain(moot.node)} in its moot`;
    document.title = `${plain(moot.node)}: folkmoot`;
    document.getElementById("about").textContent =
      `${reached} of ${moot.participants} participants connected, a quorum needs ${moot.quorum}. Up ${time(moot.seconds + (Date.now() - state.heard) / 1000)}; folkmoot ${plain(moot.version)}.${moot.has_room ? "" : " NO ROOM on its disk for new motions."}${rosters(moot)}`;
    drawRing(state, accused);
    drawTable(state, accused);
    drawAccused(state, accused);
  }

  return { draw, standing };
})();

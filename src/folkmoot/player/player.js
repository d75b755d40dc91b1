// The player: a deliberation step by step. The state is which moot, which input, which frame, and whom to look at;
// ``choose`` draws what hangs on the first two, ``go`` what hangs on the frame.
"use strict";
const Player = (() => {
  const { html, svg, still, round, percent, shade, plain, shortened, rectangle, painted, stacked, ticks, tell, place } = Parts;
  const SPEEDS = [["slow", 1, "step"], ["normal", 3, "step"], ["fast", 12, "step"], ["round by round", 1.5, "round"]];
  const FEW = 60; // more participants than that are named only when they have a part in the step

  function mount(root, data) {
    const $ = (selector) => root.querySelector(selector);
    const labels = data.labels.map(plain);
    const short = shortened(data.labels);
    const moots = data.moots.map(Deliberation.moot);
    const state = { moot: 0, input: 0, frame: 0, who: -1, playing: false };
    let [moot, run, dots, timer, cursor, size] = [moots[0], null, [], 0, null, 0];

    // ---- words ----
    const named = (i) => plain(moot.names[i]).replace(/^(?=\d+$)/, "#");
    const chip = (colour) => html("span", { class: `chip ${shade(colour)}`, text: colour < 0 ? "–" : short[colour], title: colour < 0 ? "no label" : labels[colour] });
    const say = (...parts) => parts.map((part) => (typeof part === "object" ? part : document.createTextNode(part)));
    const label = (colour) => (colour < 0 ? "no label" : labels[colour]);
    function verdict(decision, truth) {
      if (decision < 0) return ["open", "?", "undecided"];
      if (truth < 0) return ["plain", "", "decided"];
      return decision === truth ? ["good", "✓", "right"] : ["bad", "✗", "wrong"];
    }
    function judged(decision, truth, more) {
      const [kind, mark, word] = verdict(decision, truth);
      return html("span", { class: "judged" }, say(decision < 0 ? "" : chip(decision), html("b", { class: kind, text: ` ${mark} ${word}` }), more));
    }
    const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    const held = (one) => one.counts[one.counts.length - 1][one.order[0]] || 0;

    // ---- what hangs on the input and the moot ----
    function choose(input, which, frame = 0) {
      Object.assign(state, { input, moot: which, frame: 0 });
      moot = moots[which];
      run = Deliberation.of(moot, input);
      if (state.who >= moot.names.length) state.who = -1;
      $(".scrub").max = run.frames.length - 1;
      drawInputs(); drawMoots(); drawOthers(); drawAbout(); drawWho(); drawRounds(); drawLog(); drawRing();
      go(Math.min(frame, run.frames.length - 1));
    }

    function drawInputs() {
      [...$(".inputs").children].forEach((button, i) => {
        const [kind, mark, word] = verdict(moot.runs[i].decision, data.inputs[i].truth);
        const badge = button.querySelector(".badge");
        badge.className = `badge ${kind}`;
        badge.textContent = mark;
        button.setAttribute("aria-label", `input ${plain(data.inputs[i].name)}: ${word}`);
        button.setAttribute("aria-pressed", i === state.input);
      });
    }

    function drawMoots() {
      $(".moots").hidden = moots.length < 2;
      if (moots.length < 2) return;
      const truth = data.inputs[state.input].truth;
      [...$(".moots").children].forEach((button, m) => {
        const one = Deliberation.of(moots[m], state.input);
        const drawing = svg("svg", { viewBox: "0 0 300 34", preserveAspectRatio: "none", "aria-hidden": "true" },
          stacked(one.counts, one.order, Math.max(1, one.voters.length), { x: 0, y: 0, wide: 300, high: 34 }));
        const { right, inputs } = moots[m].score;
        button.replaceChildren(html("b", { class: "name", text: plain(moots[m].name) }), drawing,
          judged(one.decision, truth, `, ${percent(held(one) / Math.max(1, one.voters.length))} agree`),
          html("small", { text: right === null ? `of ${inputs} inputs, ${moots[m].score.undecided} undecided` : `all ${inputs} inputs: ${percent(right, 1)} right` }));
        button.setAttribute("aria-pressed", m === state.moot);
      });
    }

    function drawOthers() {
      const truth = data.inputs[state.input].truth;
      $(".others h2").textContent = moots.length > 1 ? "The same input, other moots" : "Before and after deliberation";
      $(".others thead").replaceChildren(html("tr", {}, ["moot", "most first votes", "deliberation"].map((text) => html("th", { text, scope: "col" }))));
      $(".others tbody").replaceChildren(...moots.map((each, m) => {
        const one = Deliberation.of(each, state.input);
        const most = one.majority;
        return html("tr", { class: m === state.moot ? "chosen" : "" }, [
          html("th", { scope: "row", text: plain(each.name) }),
          html("td", {}, [judged(most.decision, truth, ` (${most.votes} of ${most.of})`)]),
          html("td", {}, [judged(one.decision, truth, data.node ? "" : ` (${counted(one.rounds, "round")})`)])]);
      }));
    }

    function drawAbout() {
      const { name, truth, image, row } = data.inputs[state.input];
      const title = html("h2", {}, say(plain(name), truth < 0 ? "" : ", truly ", truth < 0 ? "" : chip(truth)));
      const about = [html("div", {}, [title, html("p", { class: "rule", text: plain(moot.rule) })])];
      if (image) about.unshift(html("img", { src: image, alt: `input ${plain(name)}`, class: data.ink ? "ink" : "" }));
      $(".about").replaceChildren(...about);
      if (row) $(".about").append(html("details", { class: "row" }, [html("summary", { text: counted(row.length, "column") }),
        html("dl", {}, row.flatMap(([what, value]) => [html("dt", { text: plain(what) }), html("dd", { text: plain(value) })]))]));
    }

    function drawWho() {
      const options = moot.seats.map((i) => html("option", { value: i, text: named(i) + (moot.lies.has(i) ? ` (${data.noun})` : "") }));
      $(".who").replaceChildren(html("option", { value: -1, text: "nobody" }), ...options);
      $(".who").value = state.who;
    }

    function drawLog() {
      $(".log-title").textContent = counted(run.changes.length, "change") + ` of mind${data.node ? " of this node" : ""}`;
      $(".log").replaceChildren(...run.changes.map((each) => {
        const tally = Object.entries(each.tally).sort((a, b) => b[1] - a[1]).map(([c, many]) => `${round(many)}× ${short[c]}`).join(", ");
        const button = html("button", { type: "button", "data-to": each.f }, [html("span", { class: "when", text: `round ${each.round}` }),
          html("b", { text: named(each.asker) }), html("span", { class: "turn" }, say(chip(each.before), " → ", chip(each.now))),
          html("span", { class: "tally", text: `answers ${tally}` })]);
        return html("li", {}, [button]);
      }));
      if (!run.changes.length) $(".log").append(html("li", { class: "soft", text: data.node ? "A node keeps no changes of mind." : "Nobody changes its mind." }));
    }

    // ---- shares and rows, round by round ----
    const box = { left: 54, top: 6, high: 96, gap: 12 };
    function drawRounds() {
      const drawing = $(".rounds");
      const wide = Math.max(260, Math.round(drawing.clientWidth || 600));
      const rows = moot.seats.length;
      const thick = Math.max(2, Math.min(7, Math.floor(300 / rows)));
      const [inner, below] = [wide - box.left - 6, box.top + box.high + box.gap];
      const high = below + rows * thick + 34;
      const step = inner / run.columns.length;
      Object.assign(box, { inner, step, bottom: below + rows * thick });
      drawing.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      drawing.setAttribute("height", high);
      const [cells, lying] = [[], []];
      moot.seats.forEach((who, line) => {
        const into = moot.lies.has(who) ? lying : cells;
        for (let start = 0, end; start < run.columns.length; start = end) {
          const colour = run.columns[start][who];
          for (end = start + 1; end < run.columns.length && run.columns[end][who] === colour; end++);
          if (colour >= 0) into.push([colour, rectangle(box.left + start * step, below + line * thick, (end - start) * step, thick > 3 ? thick - 1 : thick)]);
        }
      });
      const words = [[0, "0%"], [0.5, "50%"], [1, "100%"]].map(([share, text]) =>
        svg("text", { class: "axis end", x: box.left - 6, y: box.top + box.high * (1 - share) + 4, text }));
      if (moot.lies.size) words.push(svg("text", { class: "axis end", x: box.left - 6, y: box.bottom - (moot.lies.size * thick) / 2 + 4, text: data.noun }));
      const few = new Set(ticks(run.rounds - run.quiet, Math.max(4, inner / 44)).filter((r) => r > 0).map(String));
      run.names.forEach((name, c) => {
        const word = !/^\d/.test(name);
        const edge = step < 30 ? { first: "", end: "end" }[name] : undefined; // words at the edges begin or end there
        const crowded = step < 30 && !word && (c * step < 34 || (run.names.at(-1) === "end" && (run.names.length - c) * step < 40));
        if ((word || few.has(name)) && !crowded)
          words.push(svg("text", { class: `axis ${edge ?? "mid"}`, x: box.left + (edge === "" ? 0 : edge === "end" ? inner : (c + 0.5) * step), y: box.bottom + 15, text: name }));
      });
      words.push(svg("text", { class: "axis end", x: wide - 6, y: box.bottom + 30, text: run.quiet ? `rounds (in ${run.quiet} more nobody changes its mind)` : "rounds" }));
      cursor = svg("path", { class: "cursor" });
      drawing.replaceChildren(...stacked(run.counts, run.order, Math.max(1, run.voters.length), { x: box.left, y: box.top, wide: inner, high: box.high }),
        ...painted(cells), ...painted(lying, "lying"), ...words, cursor);
      drawing.setAttribute("aria-label", `Shares of the labels: at first ${shares(run.counts[0])}; at the end ${shares(run.counts[run.counts.length - 1])}.`);
      $(".key").replaceChildren(...run.order.map((colour) => html("li", {}, labels[colour] === short[colour] ? [chip(colour)] : say(chip(colour), " ", labels[colour]))),
        ...(moot.lies.size ? [html("li", { text: `◆ ${data.noun}` })] : []));
    }
    const shares = (count) => run.order.filter((c) => count[c]).map((c) => `${labels[c]} ${percent(count[c] / Math.max(1, run.voters.length))}`).join(", ") || "nothing is held";

    function frameAt(event) {
      const spot = (place($(".rounds"), event).x - box.left) / box.step;
      const column = Math.max(0, Math.min(run.columns.length - 1, Math.floor(spot)));
      const next = column + 1 < run.starts.length ? run.starts[column + 1] : run.frames.length;
      const within = Math.max(0, Math.min(0.999, spot - column));
      return run.starts[column] + Math.floor(within * (next - run.starts[column]));
    }

    // ---- the ring ----
    function drawRing() {
      const n = moot.seats.length;
      size = Math.max(300, Math.min(640, Math.round($(".ring").clientWidth || 640)));
      const longest = Math.max(...moot.seats.map((i) => named(i).length));
      const roomy = n <= 14 && longest <= 12;
      const margin = roomy ? 34 + 7 * longest : 29 + 7 * (longest <= 4 ? longest : String(n).length);
      const far = size / 2 - Math.min(margin, size / 4);
      const apart = (2 * Math.PI * far) / n;
      const zigzag = apart < 24;
      const radius = Math.max(3, Math.min(17, zigzag ? 0.8 * apart : 0.43 * apart));
      const inward = zigzag ? Math.sqrt(Math.max(0, (2 * radius + 2) ** 2 - apart ** 2)) : 0;
      $(".ring").setAttribute("viewBox", `0 0 ${size} ${size}`);
      $(".ring").setAttribute("aria-label", `${counted(n, "participant")} on a ring${moot.lies.size ? `, ${moot.lies.size} ${data.noun} among them` : ""}`);
      $(".ring").classList.toggle("many", n > FEW); // which are not faded in and out, as that takes its time
      dots = [];
      moot.seats.forEach((who, seat) => {
        const angle = (2 * Math.PI * seat) / (n + (zigzag ? n % 2 : 0)) - Math.PI / 2;
        const away = far - (seat % 2 ? inward : 0);
        const [x, y] = [size / 2 + away * Math.cos(angle), size / 2 + away * Math.sin(angle)];
        const shape = moot.lies.has(who)
          ? svg("path", { class: "shape", d: `M0 ${-round(1.22 * radius)}L${round(1.22 * radius)} 0L0 ${round(1.22 * radius)}L${-round(1.22 * radius)} 0z` })
          : svg("circle", { class: "shape", r: round(radius) });
        const text = svg("text", { class: "inside" });
        const out = far + (moot.lies.has(who) ? 1.22 : 1) * radius + 7;
        const side = Math.abs(Math.cos(angle)) > 0.35 ? (Math.cos(angle) > 0 ? "start" : "end") : "mid";
        const name = svg("text", { class: `outside ${side}`, x: round(size / 2 + out * Math.cos(angle)), y: round(size / 2 + (out + (side === "mid" ? 4 : 0)) * Math.sin(angle) + 4),
          text: roomy || longest <= 4 ? named(who).replace("#", "") : String(who) });
        const dot = svg("g", { "data-who": who, transform: `translate(${round(x)} ${round(y)})` }, [shape, text]);
        dots[who] = { x, y, dot, text, name, radius, shown: "", said: null, called: "" };
      });
      $(".ring").replaceChildren(svg("g", { class: "wires" }), ...moot.seats.map((i) => dots[i].name), ...moot.seats.map((i) => dots[i].dot), svg("text", { class: "middle", x: size / 2, y: size / 2 }));
    }

    function paint(who, colour, more, near) {
      const dot = dots[who];
      const shown = `dot ${shade(colour)} ${moot.lies.has(who) ? "malicious" : ""} ${more}`;
      if (dot.shown !== shown) dot.dot.setAttribute("class", (dot.shown = shown));
      const said = colour < 0 ? "–" : short[colour];
      if (dot.said !== said) {
        dot.text.textContent = dot.said = said;
        dot.text.setAttribute("font-size", round(dot.radius * [1.05, 1.05, 0.85, 0.66][Math.min(3, said.length)]));
        dot.text.setAttribute("class", dot.radius < 6 ? "inside unseen" : "inside");
      }
      const called = `${near ? "near" : moot.seats.length > FEW ? "unseen" : ""}`;
      if (dot.called !== called) { dot.name.classList.remove("near", "unseen"); if ((dot.called = called)) dot.name.classList.add(called); }
    }

    function wire(from, to, more, width) {
      const [a, b] = [dots[from], dots[to]];
      if (from === to) return svg("circle", { class: `wire ${more}`, "data-peer": to, cx: round(a.x), cy: round(a.y), r: round(a.radius + 5) });
      const [x, y] = [(a.x + b.x) / 2, (a.y + b.y) / 2];
      const away = Math.hypot(x - size / 2, y - size / 2) || 1;
      const pull = Math.min(0.45, (0.9 * Math.hypot(a.x - b.x, a.y - b.y)) / away); // towards the middle, neighbours a little
      const bent = [x, y].map((each) => round(each * (1 - pull) + (size / 2) * pull));
      return svg("path", { class: `wire ${more}`, "data-peer": to, d: `M${round(b.x)} ${round(b.y)}Q${bent.join(" ")} ${round(a.x)} ${round(a.y)}`, "stroke-width": width });
    }

    const lastQuestion = (who) => {
      for (let f = state.frame; f >= 0; f--) if (run.frames[f].kind === "step" && run.frames[f].asker === who) return run.frames[f];
      return null;
    };

    // ---- what hangs on the frame ----
    function go(frame) {
      state.frame = frame;
      const now = run.frames[frame];
      const looking = state.who >= 0;
      const shown = looking ? lastQuestion(state.who) : now.kind === "step" ? now : null;
      const parts = new Map(shown ? shown.peers.map((peer, j) => [peer, shown.answers[j]]) : []);
      const busy = looking || now.kind === "step";
      for (const who of moot.seats) {
        const asks = looking ? who === state.who : busy && who === now.asker;
        const near = !busy || asks || parts.has(who);
        const answer = parts.has(who) && moot.lies.has(who) ? parts.get(who) : now.held[who];
        paint(who, answer, `${near ? "" : "dim"} ${asks ? (looking ? "looked" : "asker") : ""}`, busy && near);
      }
      const wires = shown ? shown.peers.map((peer, j) => wire(shown.asker, peer, `${shade(shown.answers[j])} ${moot.lies.has(peer) ? "lie" : ""}`, 2.2)) : [];
      $(".wires").replaceChildren(...wires);
      $(".middle").textContent = busy ? "" : now.kind === "first" ? "first votes" : "the end";
      drawStep(now);
      drawOne();
      $(".scrub").value = frame;
      const steps = run.frames.length - 2;
      const unseen = run.quiet ? `, ${counted(run.quiet, "round")} left out` : "";
      const where = now.kind === "step" ? `round ${now.round} of ${run.rounds} · step ${frame} of ${steps}`
        : now.kind === "over" ? data.node ? "the end: final votes" : `the end, after ${counted(run.rounds, "round")}${unseen}` : "before round 1: first votes";
      $(".where").textContent = where;
      $(".scrub").setAttribute("aria-valuetext", where);
      const start = run.starts[now.column];
      const next = now.column + 1 < run.starts.length ? run.starts[now.column + 1] : run.frames.length;
      const x = round(box.left + box.step * (now.column + (frame - start + 0.5) / (next - start)));
      cursor.setAttribute("d", `M${x} ${box.top - 4}V${box.bottom + 3}`);
      const was = $(".log .at");
      if (was) was.classList.remove("at");
      const entry = $(`.log [data-to="${frame}"]`);
      if (entry) {
        entry.classList.add("at");
        const list = $(".log");
        list.scrollTop = entry.offsetTop - list.offsetTop - list.clientHeight / 2;
      }
    }

    function drawStep(now) {
      let tally, words, needs;
      const asked = now.kind === "step";
      if (asked) {
        tally = now.tally;
        const [won] = Object.entries(tally).filter(([, many]) => many >= now.alpha - 1e-9).map(([c]) => Number(c));
        const who = named(now.asker);
        const turned = now.now === now.before ? `${who} stays with ${label(now.now)}` : `${who} changes to ${label(now.now)}${moot.lockstep ? " at the end of the round" : ""}`;
        const reached = won === undefined ? `no label reaches ${round(now.alpha)}` : `${round(tally[won])} say ${labels[won]}`;
        words = `Round ${now.round}: ${who} asks ${counted(now.peers.length, "other")}; ${reached}. ${turned}.`;
        needs = `the dashed line: ${round(now.alpha)} of ${now.peers.length} must agree`;
      } else {
        const column = run.counts[now.column];
        tally = Object.fromEntries(run.order.filter((c) => column[c]).map((c) => [c, column[c]]));
        const many = run.voters.length;
        needs = `labels of ${data.node ? `the ${many} whose final vote counts` : moot.lies.size ? `the ${many} that follow the rule` : counted(many, "participant")}`;
        words = now.kind === "first" ? data.node ? "The first votes of all who closed. What comes next is what this node asked." : "Everybody has its first vote; nobody has asked yet."
          : `The deliberation is over: ${run.decision < 0 ? "undecided" : `${percent(held(run) / Math.max(1, many))} hold ${labels[run.decision]}`}` + (data.node ? ", by the final votes." : ".") + (run.quiet ? ` In the last ${run.quiet + 3} rounds nobody changed its mind.` : "");
      }
      const said = $(".said");
      said.setAttribute("aria-live", state.playing ? "off" : "polite");
      said.textContent = words;
      const most = asked ? Math.max(now.peers.length, now.alpha, 1) : Math.max(1, run.voters.length);
      const order = Object.entries(tally).sort((a, b) => b[1] - a[1]);
      const lines = order.map(([colour, many]) => {
        const lying = asked ? now.peers.filter((peer, j) => moot.lies.has(peer) && now.answers[j] === Number(colour)).length : 0;
        const bar = html("span", { class: `bar ${shade(Number(colour))}` });
        bar.style.width = percent(many / most, 1);
        const track = html("span", { class: "track" }, [bar]);
        if (asked) { const mark = html("span", { class: "mark" }); mark.style.left = percent(now.alpha / most, 1); track.append(mark); }
        return html("div", { class: "line" }, [chip(Number(colour)), track, html("span", { class: "many", text: `${round(many)}${lying ? ` (${lying} ${data.noun})` : ""}` })]);
      });
      $(".tally").replaceChildren(...lines);
      $(".needs").textContent = needs;
    }

    function drawOne() {
      const [who, one] = [state.who, $(".one")];
      one.hidden = who < 0;
      if (who < 0) return;
      const now = run.frames[state.frame];
      const lies = moot.lies.get(who);
      const words = [html("b", { text: named(who) }), lies === undefined ? " holds " : ` is ${data.noun}${lies ? ` (${plain(lies).replace(/\(\)$/, "")})` : ""} and says `, chip(now.held[who]), ", first vote ", chip(run.first[who]), ". "];
      const question = lastQuestion(who);
      
      if (lies === undefined && !moot.honest[who]) words.push(data.node ? "It cast no final vote that counts. " : "It takes no part. ");
      if (question) words.push(`In round ${question.round} it asked ${question.peers.length}, of whom ${question.alpha} had to agree.`);
      else if (moot.honest[who]) words.push("It has not asked yet.");
      one.replaceChildren(...say(...words));
    }

    // ---- playing ----
    const bounded = (frame) => Math.max(0, Math.min(run.frames.length - 1, frame));
    function roundFrom(frame, way) {
      const { column } = run.frames[frame];
      if (way > 0) return column + 1 < run.starts.length ? run.starts[column + 1] : run.frames.length - 1;
      return frame > run.starts[column] ? run.starts[column] : run.starts[Math.max(0, column - 1)];
    }
    function play(on) {
      state.playing = on;
      root.classList.toggle("playing", on);
      const button = $("[data-do=play]");
      button.setAttribute("aria-label", on ? "pause" : "play");
      clearTimeout(timer);
      if (!on) return;
      if (state.frame === run.frames.length - 1) go(0);
      beat();
    }
    function beat() {
      const [, rate, unit] = SPEEDS[$(".speed").selectedIndex];
      timer = setTimeout(() => {
        go(unit === "round" ? roundFrom(state.frame, 1) : bounded(state.frame + 1));
        if (state.frame === run.frames.length - 1) play(false); else beat();
      }, 1000 / (still() ? Math.min(rate, 3) : rate)); // who asks for less motion is not shown more than 3 pictures a second
    }
    const by = (frame) => { play(false); go(bounded(frame)); };
    const look = (who) => { state.who = who; $(".who").value = who; go(state.frame); };
    const nextChange = () => { const next = run.changes.find((each) => each.f > state.frame); by(next ? next.f : run.frames.length - 1); };
    const deeds = { back: () => by(state.frame - 1), step: () => by(state.frame + 1), play: () => play(!state.playing), change: nextChange };

    function key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const slider = event.target.tagName === "INPUT";
      const { key: pressed, shiftKey: far } = event;
      const other = (way) => choose((state.input + way + data.inputs.length) % data.inputs.length, state.moot);
      if (pressed === " " && !/^(BUTTON|SUMMARY)$/.test(event.target.tagName)) play(!state.playing);
      else if (pressed === "ArrowRight" && (far || !slider)) by(far ? roundFrom(state.frame, 1) : state.frame + 1);
      else if (pressed === "ArrowLeft" && (far || !slider)) by(far ? roundFrom(state.frame, -1) : state.frame - 1);
      else if (pressed === "ArrowDown" && !slider) other(1);
      else if (pressed === "ArrowUp" && !slider) other(-1);
      else if (pressed === "Home" && !slider) by(0);
      else if (pressed === "End" && !slider) by(run.frames.length - 1);
      else if (pressed === "n") nextChange();
      else if (pressed === "Escape") look(-1);
      else if (/^[1-9]$/.test(pressed) && Number(pressed) <= moots.length) choose(state.input, Number(pressed) - 1);
      else return;
      event.preventDefault();
    }

    function start() {
      $(".inputs").append(...data.inputs.map((input, i) => {
        const inside = input.image ? html("img", { src: input.image, alt: "", class: data.ink ? "ink" : "" }) : html("span", { class: "word", text: plain(input.name).replace(/^input (?=\d+$)/, "") });
        const button = html("button", { type: "button", title: plain(input.name) }, [inside, html("span", { class: "badge" })]);
        button.addEventListener("click", () => { play(false); choose(i, state.moot); });
        return button;
      }));
      $(".moots").append(...moots.map((_, m) => {
        const button = html("button", { type: "button" });
        button.addEventListener("click", () => { play(false); choose(state.input, m); });
        return button;
      }));
      $(".speed").append(...SPEEDS.map(([name]) => html("option", { text: name })));
      $(".speed").selectedIndex = 1;
      for (const button of root.querySelectorAll("[data-do]")) button.addEventListener("click", () => deeds[button.dataset.do]());
      $(".scrub").addEventListener("input", (event) => by(Number(event.target.value)));
      $(".who").addEventListener("change", (event) => look(Number(event.target.value)));
      $(".log").addEventListener("click", (event) => { const button = event.target.closest("[data-to]"); if (button) by(Number(button.dataset.to)); });
      const ring = $(".ring");
      const pointed = (event) => { const dot = event.target.closest("[data-who]"); return dot ? Number(dot.dataset.who) : -1; };
      ring.addEventListener("click", (event) => { const who = pointed(event); look(who === state.who ? -1 : who); });
      ring.addEventListener("pointermove", (event) => {
        const who = pointed(event);
        tell(who < 0 ? [] : [html("b", { text: named(who) + (moot.lies.has(who) ? ` · ${data.noun}` : "") }), html("span", {}, say("says ", chip(run.frames[state.frame].held[who]), " first ", chip(run.first[who])))], event);
      });
      ring.addEventListener("pointerleave", (event) => tell([], event));
      const drawing = $(".rounds");
      drawing.addEventListener("pointerdown", (event) => { drawing.setPointerCapture(event.pointerId); by(frameAt(event)); });
      drawing.addEventListener("pointermove", (event) => {
        if (event.buttons) return by(frameAt(event));
        const column = run.frames[frameAt(event)].column;
        const name = run.names[column];
        const at = /^\d/.test(name) ? `after round ${name}` : { first: "first votes", end: data.node ? "final votes" : "at the end" }[name];
        return tell([html("b", { text: at }), ...run.order.filter((c) => run.counts[column][c]).map((c) => html("span", {}, say(chip(c), ` ${run.counts[column][c]} of ${run.voters.length}`)))], event);
      });
      drawing.addEventListener("pointerleave", (event) => tell([], event));
      document.addEventListener("keydown", key);
      $(".wait").remove();
      $(".stage").hidden = false;
      choose(0, 0);
      let before = innerWidth;
      addEventListener("resize", () => { if (innerWidth !== before) { before = innerWidth; drawRounds(); drawRing(); go(state.frame); } });
    }

    start();
    return { state, go: by, choose, frames: () => run.frames };
  }

  for (const root of document.querySelectorAll(".player")) Parts.read(root.dataset.from).then((data) => { root.player = mount(root, data); });
  return { mount };
})();

// How numbers, times and labels are put into words, and the small parts that several sections draw. All of it is set as text.
"use strict";
const Words = (() => {
  const { html, svg, bare, plain, percent, shade, shortened } = Parts;

  const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
  const short = (motion) => motion.slice(0, 8);
  const list = (names, most = 6) =>
    names.slice(0, most).map(plain).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");

  function time(seconds) {
    const whole = Math.max(0, Math.round(seconds));
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60 ? `${whole % 60} s` : ""}`.trim();
    if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
    return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
  }
  const ago = (clock) => {
    const seconds = Date.now() / 1000 - clock;
    return seconds < 2 ? "now" : `${time(seconds)} ago`;
  };
  const clock = (seconds) =>
    new Date(seconds * 1000).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

  const button = (words, what, attributes = {}) => {
    const made = html("button", { type: "button", text: words, ...attributes });
    made.addEventListener("click", what);
    return made;
  };

  // Something that may fail, beside what is said about it.
  const saving = (words, path, name, tell) =>
    button(words, () => Link.download(path, name).catch((error) => tell(error.message, true)), { class: "small-button", "data-key": `${path}` });

  // A label as a coloured chip; its whole text stands beside it or in its title.
  const chip = (label, labels) => {
    const colour = label === null ? -1 : labels.indexOf(label);
    return html("span", { class: `chip ${shade(colour)}`, text: label === null ? "–" : plain(label), title: label === null ? "no decision" : plain(label) });
  };

  // Shares of labels, a line each.
  function bars(shares, labels, colours = labels) {
    const found = labels.filter((label) => shares[label]).sort((a, b) => shares[b] - shares[a]);
    const narrow = found.every((label) => label.length < 4) ? " narrow" : "";
    const lines = found.slice(0, 8).map((label) => {
      const bar = html("span", { class: `bar ${shade(colours.indexOf(label))}` });
      bar.style.width = percent(shares[label], 2);
      return html("div", { class: `line wide${narrow}` }, [chip(label, colours), html("span", { class: "track" }, [bar]), html("span", { class: "many", text: percent(shares[label], 1) })]);
    });
    if (found.length > 8) lines.push(html("p", { class: "soft small", text: `and ${many(found.length - 8, "label")} with less` }));
    return lines;
  }

  // The same in one line.
  function strip(shares, labels) {
    const made = html("span", { class: "strip", role: "img", "aria-label": labels.filter((l) => shares[l]).map((l) => `${plain(l)} ${percent(shares[l])}`).join(", ") || "nothing" });
    labels.forEach((label, colour) => {
      if (!shares[label]) return;
      const part = html("span", { class: `part ${shade(colour)}`, title: `${plain(label)} ${percent(shares[label])}` });
      part.style.width = percent(shares[label], 2);
      made.append(part);
    });
    return made;
  }

  // Shares by round, stacked; rounds: a list of shares by label, null where nothing is known.
  function chart(rounds, labels, what, numbered = true) {
    const box = { x: 34, y: 6, wide: 560, high: 110 };
    let before = {};
    const columns = Array.from(rounds, (shares) => labels.map((label) => (before = shares || before)[label] || 0));
    const drawing = svg("svg", { class: "rounds-chart", viewBox: "0 0 600 138", role: "img", "aria-label": what });
    drawing.append(...Parts.stacked(columns, labels.map((_, i) => i), 1, box));
    for (const [share, y] of [["100%", 12], ["50%", 64], ["0%", 116]]) drawing.append(svg("text", { class: "axis end", x: 30, y, text: share }));
    for (const tick of numbered ? Parts.ticks(rounds.length, 8) : [])
      if (tick > 0) drawing.append(svg("text", { class: "axis mid", x: Parts.round(box.x + ((tick - 0.5) / rounds.length) * box.wide), y: 132, text: String(tick) }));
    return drawing;
  }

  const key = (labels) =>
    html("ul", { class: "key", "aria-label": "labels" }, labels.slice(0, 24).map((label) => html("li", {}, [chip(label, labels)])));

  // Put children in; whoever was focused inside stays so.
  function fresh(where, children) {
    const focused = where.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    where.replaceChildren(...children);
    if (focused === undefined) return;
    for (const each of where.querySelectorAll("[data-key]")) if (each.dataset.key === focused) return each.focus({ preventScroll: true });
  }

  const head = (...names) => html("thead", {}, [html("tr", {}, names.map((name) => html("th", { scope: "col", text: name })))]);
  const cell = (content, attributes = {}) =>
    typeof content === "object" && content !== null ? html("td", attributes, Array.isArray(content) ? content : [content]) : html("td", { ...attributes, text: content });

  // Names and what is said of each, in words or as elements; what has nothing to say is left out.
  const facts = (lines) =>
    html("dl", { class: "facts" }, lines.filter(([, said]) => said && said.length).flatMap(([name, said]) =>
      [html("dt", { text: name }), typeof said === "string" ? html("dd", { text: said }) : html("dd", {}, said)]));
  const digits = (number) => String(Number(number.toPrecision(6)));
  // How many, and all of their names; a long list is folded.
  const counted = (names, most = 8) => {
    if (!names.length) return "";
    if (names.length <= most) return `${names.length}: ${list(names, names.length)}`;
    return [html("details", {}, [html("summary", { text: many(names.length, "member") }), list(names, names.length)])];
  };
  const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });
  const reasons = (why, most = 30) => Object.entries(why).slice(0, most).map(([name, words]) => `${plain(name)}: ${bare(words)}`).join("; ");

  // Names in a column on each side, so far apart that none lies on another, each with a line to its dot.
  const NAMED = 48;
  // On a phone the drawing is narrow, so that its letters can be read.
  const WIDE = { wide: 640, high: 384, rx: 138, ry: 165, edge: 190, font: 14, letters: 16 };
  const NARROW = { wide: 360, high: 384, rx: 58, ry: 165, edge: 84, font: 12, letters: 13 };
  function names(dots, at, size, box) {
    const made = [];
    const middle = box.wide / 2;
    for (const side of [-1, 1]) {
      const mine = dots.filter((dot) => (at.get(dot.name)[0] >= middle) === side > 0).sort((a, b) => at.get(a.name)[1] - at.get(b.name)[1]);
      const gap = Math.min(24, box.high / mine.length);
      const lines = mine.map((dot) => at.get(dot.name)[1]);
      for (let i = 1; i < lines.length; i++) lines[i] = Math.max(lines[i], lines[i - 1] + gap);
      const over = Math.max(0, (lines.at(-1) || 0) - box.high);
      for (let i = lines.length - 1, most = box.high; i >= 0 && over; i--, most -= gap) lines[i] = Math.min(lines[i], most);
      mine.forEach((dot, i) => {
        const [x, y] = at.get(dot.name);
        const [edge, words] = [middle + side * box.edge, plain(dot.name)];
        made.push(svg("path", { class: "lead", d: `M${Parts.round(x + side * size)} ${Parts.round(y)}L${edge - side * 8} ${Parts.round(lines[i])}L${edge - side * 3} ${Parts.round(lines[i])}` }));
        const label = svg("text", { class: `outside near ${side > 0 ? "start" : "end"}`, x: edge, y: Parts.round(lines[i] + 4), text: words.length > box.letters ? `${words.slice(0, box.letters - 5)}…${words.slice(-4)}` : words });
        label.style.fontSize = `${Math.min(box.font, Parts.round(gap * 0.85))}px`;
        made.push(label);
      });
    }
    return made;
  }

  // n places on an ellipse, equally far apart along it.
  function spread(n, middle, box) {
    const around = Array.from({ length: 721 }, (_, i) => (Math.PI * i) / 360 - Math.PI / 2).map((angle) => [middle + box.rx * Math.cos(angle), 190 + box.ry * Math.sin(angle)]);
    const far = [0];
    for (let i = 1; i < around.length; i++) far.push(far[i - 1] + Math.hypot(around[i][0] - around[i - 1][0], around[i][1] - around[i - 1][1]));
    return Array.from({ length: n }, (_, i) => around[far.findIndex((each) => each >= (far.at(-1) * (i + 0.5)) / n)]);
  }

  // Participants on a ring. dots: name, kind (a class), mark (inside), liar, own; wires: names of those whom ``from`` asks.
  const rings = new WeakMap();
  function ring(drawing, dots, from, wires, what) {
    const box = drawing.clientWidth && drawing.clientWidth < 480 ? NARROW : WIDE;
    const mark = JSON.stringify([dots, from, wires, what, box.wide]);
    if (rings.get(drawing) === mark) return;
    rings.set(drawing, mark);
    drawing.setAttribute("viewBox", `0 -8 ${box.wide} 400`);
    drawing.style.aspectRatio = `${box.wide} / 400`;
    const n = dots.length;
    const middle = box.wide / 2;
    const size = Math.max(4, Math.min(19, (Math.PI * (box.rx + box.ry)) / (2.5 * Math.max(n, 8))));
    const at = new Map(spread(n, middle, box).map((place, i) => [dots[i].name, place]));
    const parts = n <= NAMED ? names(dots, at, size, box) : [];
    for (const name of wires) {
      if (!at.has(name) || !at.has(from)) continue;
      const [[x1, y1], [x2, y2]] = [at.get(from), at.get(name)];
      const d = `M${Parts.round(x1)} ${Parts.round(y1)}Q${Parts.round((x1 + x2 + middle) / 3)} ${Parts.round((y1 + y2 + 190) / 3)} ${Parts.round(x2)} ${Parts.round(y2)}`;
      parts.push(svg("path", { class: "wire asked", d, "stroke-width": 2 }));
    }
    dots.forEach((dot) => {
      const [x, y] = at.get(dot.name);
      const shape = dot.liar
        ? svg("path", { class: "shape", d: `M0 ${-size * 1.2}L${size * 1.2} 0L0 ${size * 1.2}L${-size * 1.2} 0z` })
        : svg("circle", { class: "shape", r: size });
      const made = svg("g", { class: `dot ${dot.kind}${dot.liar ? " liar" : ""}${dot.own ? " asker" : ""}`, transform: `translate(${Parts.round(x)} ${Parts.round(y)})`, "data-name": dot.name },
        [svg("title", { text: `${plain(dot.name)}: ${dot.says}` }), shape]);
      if (size > 8) made.append(svg("text", { class: "inside", "font-size": Parts.round(size * 0.85), text: dot.mark }));
      parts.push(made);
    });
    drawing.setAttribute("aria-label", what);
    drawing.replaceChildren(...parts);
  }

  return { many, short, list, time, ago, clock, button, saving, chip, bars, strip, chart, key, fresh, head, cell, facts, reasons, counted, byName, digits, ring, shortened };
})();

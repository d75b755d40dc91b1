// Curves and stacks of a report: hover shows the values, the legend hides lines, axes fit, ticks are where something was measured.
"use strict";
const Curves = (() => {
  const { html, svg, round, percent, shade, plain, shortened, rectangle, painted, stacked, tell, place, read } = Parts;
  const [LEFT, TOP, BOTTOM, HIGH] = [52, 12, 46, 340];

  const look = (line) => `curve ${shade(line.colour)} ${line.look || ""}`;
  const swatch = (line) => svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, [svg("path", { class: look(line), d: "M1 5H25" })]);

  // Round steps that cover what was measured.
  function covering(values) {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (high - low < 1e-9) [low, high] = [low - 0.05, high + 0.05];
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1].find((each) => (high - low) / each <= 6) || 1;
    const first = Math.floor(low / step + 1e-9);
    const last = Math.ceil(high / step - 1e-9);
    return Array.from({ length: last - first + 1 }, (_, i) => round((first + i) * step, 4));
  }

  // Measured points that have room; the first and the last always have.
  function roomy(points, at, apart) {
    const kept = [];
    points.forEach((x, i) => {
      const last = i === points.length - 1;
      while (last && kept.length > 1 && at(x) - at(kept.at(-1)) < apart) kept.pop();
      if (!kept.length || last || at(x) - at(kept.at(-1)) >= apart) kept.push(x);
    });
    return kept;
  }

  function axes(xs, ys, wide, data) {
    const [low, high] = [ys[0], ys.at(-1)];
    const span = xs.at(-1) - xs[0] || 1;
    const x = (value) => LEFT + ((wide - LEFT - 14) * (value - xs[0])) / span;
    const y = (value) => TOP + ((HIGH - TOP - BOTTOM) * (high - value)) / (high - low);
    const parts = ys.flatMap((value) => [svg("path", { class: "grid", d: `M${LEFT} ${round(y(value))}H${wide - 14}` }),
      svg("text", { class: "axis end", x: LEFT - 8, y: round(y(value)) + 4, text: percent(value) })]);
    for (const value of roomy(xs, x, 30))
      parts.push(svg("text", { class: "axis mid", x: round(x(value)), y: HIGH - BOTTOM + 18, text: String(value) }), svg("path", { class: "grid", d: `M${round(x(value))} ${HIGH - BOTTOM}v5` }));
    parts.push(svg("text", { class: "axis mid", x: (LEFT + wide) / 2, y: HIGH - 6, text: plain(data.x) }));
    return { x, y, parts };
  }

  function lines(drawing, data, hidden, wide) {
    const shown = data.lines.filter((_, i) => !hidden.has(i));
    const xs = [...new Set(data.lines.flatMap((line) => line.points.map(([at]) => at)))].sort((a, b) => a - b);
    const { x, y, parts } = axes(xs, covering((shown.length ? shown : data.lines).flatMap((line) => line.points.map(([, value]) => value))), wide, data);
    for (const line of shown) parts.push(svg("path", { class: look(line), d: line.points.map(([at, value], i) => `${i ? "L" : "M"}${round(x(at))} ${round(y(value))}`).join("") }));
    for (const line of shown)
      if (line.look !== "pale") for (const [at, value] of line.points) parts.push(svg("circle", { class: `point ${shade(line.colour)}`, cx: round(x(at)), cy: round(y(value)), r: line.look === "strong" ? 4 : 3 }));
    const rule = svg("path", { class: "cursor" });
    drawing.replaceChildren(...parts, rule);
    drawing.onpointermove = (event) => {
      const spot = place(drawing, event).x;
      const at = xs.reduce((best, each) => (Math.abs(x(each) - spot) < Math.abs(x(best) - spot) ? each : best), xs[0]);
      rule.setAttribute("d", `M${round(x(at))} ${TOP}V${HIGH - BOTTOM}`);
      const values = shown.map((line) => [line, line.points.find(([each]) => each === at)]).filter(([, point]) => point).map(([line, point]) => [line, point[1]]);
      const told = data.many ? summary(values.map(([, value]) => value)) : values.sort((a, b) => b[1] - a[1]).map(([line, value]) =>
        html("span", {}, [swatch(line), html("span", { text: plain(line.name) }), html("b", { class: "value", text: percent(value, 1) })]));
      tell([html("b", { text: `${at} ${plain(data.x)}` }), ...told], event);
    };
    drawing.onpointerleave = (event) => { rule.removeAttribute("d"); tell([], event); };
  }

  function summary(values) {
    const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
    return [html("span", { text: `on average ${percent(mean, 1)}` }), html("span", { text: `${values.filter((value) => value >= 1 - 1e-9).length} of ${values.length} at 100%` })];
  }

  function stacks(drawing, data, wide) {
    const most = Math.max(1, ...data.columns.map((each) => each.counts.reduce((sum, count) => sum + count, 0)));
    const box = { x: LEFT, y: TOP, wide: wide - LEFT - 14, high: HIGH - TOP - BOTTOM };
    const parts = stacked(data.columns.map((each) => each.counts), data.labels.map((_, i) => i), most, box);
    for (const share of [0, 0.5, 1]) parts.push(svg("text", { class: "axis end", x: LEFT - 8, y: box.y + box.high * (1 - share) + 4, text: String(Math.round(share * most)) }));
    parts.push(svg("text", { class: "axis mid", x: (LEFT + wide) / 2, y: HIGH - 6, text: plain(data.x) }));
    drawing.replaceChildren(...parts);
    const short = shortened(data.labels);
    drawing.onpointermove = (event) => {
      const which = Math.floor(((place(drawing, event).x - LEFT) / box.wide) * data.columns.length);
      const column = data.columns[Math.max(0, Math.min(data.columns.length - 1, which))];
      const held = column.counts.map((count, i) => [count, i]).filter(([count]) => count).map(([count, i]) =>
        html("span", {}, [html("span", { class: `chip ${shade(i)}`, text: short[i] }), html("span", { text: plain(data.labels[i]) }), html("b", { class: "value", text: count })]));
      tell([html("b", { text: plain(column.name) }), ...held], event);
    };
    drawing.onpointerleave = (event) => tell([], event);
    return short;
  }

  function mount(figure, data) {
    const drawing = svg("svg", { role: "img", "aria-label": plain(data.title), height: HIGH });
    const hidden = new Set();
    const draw = () => {
      const wide = Math.max(280, Math.round(drawing.clientWidth || 800));
      drawing.setAttribute("viewBox", `0 0 ${wide} ${HIGH}`);
      if (data.columns) stacks(drawing, data, wide); else lines(drawing, data, hidden, wide);
    };
    const legend = html("ul", { class: "legend" });
    if (data.columns) legend.append(...shortened(data.labels).map((word, i) => html("li", {}, [html("span", { class: `chip ${shade(i)}`, text: word, title: plain(data.labels[i]) })])));
    else if (!data.many)
      legend.append(...data.lines.map((line, i) => {
        const button = html("button", { type: "button", "aria-pressed": "true" }, [swatch(line), html("span", { text: plain(line.name) })]);
        button.addEventListener("click", () => {
          if (hidden.has(i)) hidden.delete(i); else hidden.add(i);
          button.setAttribute("aria-pressed", !hidden.has(i));
          draw();
        });
        return html("li", {}, [button]);
      }));
    figure.prepend(drawing, legend);
    draw();
    addEventListener("resize", draw);
  }

  for (const figure of document.querySelectorAll("figure.curves")) read(figure.dataset.from).then((data) => mount(figure, data));
  return { mount };
})();

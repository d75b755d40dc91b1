// What the player and the curves are made of: elements, coloured chips, coordinates, one tip that follows the pointer.
// Texts are only ever set as text (textContent), never as markup.
"use strict";
const Parts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const fill = (made, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {}))
      if (name === "text") made.textContent = value;
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
    for (const child of children || []) if (child !== null) made.append(child);
    return made;
  };
  const html = (tag, attributes, children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const round = (value, digits = 1) => Number(value.toFixed(digits));
  const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

  // Twelve colours tell labels apart; beyond that they come again, and what is written inside tells.
  const COLOURS = 12;
  const shade = (colour) => (colour < 0 ? "none" : `k${colour % COLOURS}`);

  // Bidirectional marks and controls in others' words must not reorder or hide what stands beside them.
  const bare = (words) => String(words).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "\u00b7");
  const plain = (words) => bare(clipped(String(words)));

  const clipped = (words) => (words.length > 80 ? `${words.slice(0, 79)}…` : words);

  // What stands in a dot: the label if it is short, else its beginning, else a letter of the alphabet.
  function shortened(labels) {
    const words = labels.map(plain);
    for (const most of [3, 2, 1]) {
      const cut = words.map((word) => (word.length > 3 ? [...word].slice(0, most).join("") : word));
      if (new Set(cut).size === cut.length) return cut;
    }
    return words.map((_, i) => (i < 26 ? String.fromCharCode(65 + i) : String(i)));
  }

  const rectangle = (x, y, wide, high) => `M${round(x, 2)} ${round(y, 2)}h${round(wide, 2)}v${round(high, 2)}h${round(-wide, 2)}z`;

  // One path a colour: a picture of thousands of cells stays a dozen elements.
  function painted(cells, more = "") {
    const paths = new Map();
    for (const [colour, d] of cells) paths.set(colour, (paths.get(colour) || "") + d);
    return [...paths].map(([colour, d]) => svg("path", { class: `area ${shade(colour)} ${more}`, d }));
  }

  // Shares of the colours as stacked steps. columns: a list of counts by colour; order: colours from the bottom.
  function stacked(columns, order, voters, box) {
    const wide = box.wide / columns.length;
    const cells = [];
    for (const colour of order)
      for (let start = 0, end; start < columns.length; start = end) {
        const below = (c) => order.slice(0, order.indexOf(colour)).reduce((sum, o) => sum + columns[c][o], 0);
        const [low, count] = [below(start), columns[start][colour]];
        end = start + 1;
        while (end < columns.length && below(end) === low && columns[end][colour] === count) end++;
        if (count)
          cells.push([colour, rectangle(box.x + start * wide, box.y + box.high * (1 - (low + count) / voters),
            (end - start) * wide, (box.high * count) / voters)]);
      }
    return painted(cells);
  }

  // About ``most`` of 0..last, evenly apart.
  function ticks(last, most) {
    const every = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000].find((step) => last / step <= most) || last;
    return Array.from({ length: Math.floor(last / every) + 1 }, (_, i) => i * every);
  }

  let tip = null;
  function tell(lines, event) {
    if (!tip) document.body.append((tip = html("div", { class: "tip", role: "presentation" })));
    tip.replaceChildren(...lines);
    tip.hidden = !lines.length;
    if (tip.hidden) return;
    const { width, height } = tip.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - width - 14 : event.clientX + 14;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 4))}px`;
  }

  // Where in the viewBox of a drawing the pointer is.
  function place(drawing, event) {
    const matrix = drawing.getScreenCTM();
    return matrix ? new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()) : { x: 0, y: 0 };
  }

  // Data lie in a script that is not executed: JSON with a base64 text of deflated JSON in it.
  async function read(id) {
    const { deflated } = JSON.parse(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(atob(deflated), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }

  return { html, svg, still, round, percent, shade, bare, plain, shortened, rectangle, painted, stacked, ticks, tell, place, read };
})();

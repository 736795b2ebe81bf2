/* box.js - the frame of a chart: its title, choices, key, buttons and hint, and when it is
 * drawn. */

/* The colours of Okabe and Ito, which people who confuse colours can tell apart. Idle time is
 * hatched. */
const PARTS = {
    compute: "#0072b2",
    transfer: "#e69f00",
    waiting: "#d55e00",
    copy: "#009e73",
    sync: "#cc79a7",
    cpu: "#f0e442",
    loader: "#56b4e9",
    launch: "#b5b5b5",
    queued: "#a9835a",
    unknown: "#77777b",
};
const IDLE = ["sync", "cpu", "loader", "launch", "queued", "unknown"];
const CLASSES = {
    compute: PARTS.compute,
    communication: PARTS.transfer,
    copy: PARTS.copy
};
const COLORS =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#a9835a", "#8c8c8c"];
const FONT = "px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

const charts = []; /* all on the page */
const look = {};   /* colours of the theme */

function readLook() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["text", "quiet", "grid", "line", "box", "low", "high"])
        look[name] = style.getPropertyValue(`--${name}`).trim();
}

/* An entry of a key, and the look of what it stands for. */
const entry = (name, color, isHatched = false) => ({ name, color, isHatched });
const partEntry = name => entry(name, PARTS[name] ?? COLORS[7], IDLE.includes(name));

/* Returns what fillStyle takes. */
function fillOf(ctx, { color, isHatched }) {
    if (!isHatched)
        return color;
    const tile = make("canvas"), size = 6 * devicePixelRatio, pen = tile.getContext("2d");
    tile.width = tile.height = size;
    pen.fillStyle = color;
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = "#0006";
    pen.lineWidth = devicePixelRatio;
    pen.beginPath();
    for (const shift of [-size, 0, size]) {
        pen.moveTo(shift - 1, size + 1);
        pen.lineTo(shift + size + 1, -1);
    }
    pen.stroke();
    return ctx.createPattern(tile, "repeat");
}

/* Black or white, whichever can be read on a colour. */
function inkOn(color) {
    const [r, g, b] = [1, 3,
        5].map(i => parseInt(color.slice(i, i + 2), 16) /
                  255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
}

function shortened(ctx, text, width) {
    if (text.length > 200) /* measuring is slow */
        text = `${text.slice(0, 100)}\u2026${text.slice(-100)}`;
    while (text.length > 8 && ctx.measureText(text).width > width)
        text = `${text.slice(0, text.length / 2 - 1)}\u2026${text.slice(text.length / 2 + 2)}`;
    return text;
}

/* Makes a canvas with a pen that counts in CSS pixels. */
function penOn(host, width, height) {
    const canvas = make("canvas", host);
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext("2d");
    ctx.scale(devicePixelRatio, devicePixelRatio);
    return ctx;
}

/* The box beside the pointer. `lines` has the texts, or none to hide it. */
function showTip(host, x, y, lines) {
    let tip = host.querySelector(".tip");
    if (!lines?.length) {
        tip?.remove();
        return;
    }
    tip ??= make("div", host, undefined, "tip");
    tip.setAttribute("aria-hidden", "true");
    tip.replaceChildren();
    lines.forEach((line, i) => {
        const row = make("div", tip, undefined, i ? "" : "first");
        if (line.color)
            swatch(row, line);
        row.append(line.text ?? line);
    });
    tip.style.left = `${Math.max(0, Math.min(x + 14, host.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 14}px`;
}

function swatch(parent, { color, isHatched }) {
    const box = make("i", parent, undefined, isHatched ? "hatched" : "");
    box.style.backgroundColor = color;
}

/* Draws the chart with its title and key on one canvas. */
function pictureOf(figure, title, key) {
    const from = figure.querySelector(".plot canvas"), scale = devicePixelRatio,
          width = from.width / scale;
    const lines = [[]];
    const sketch = make("canvas").getContext("2d");
    sketch.font = `12${FONT}`;
    let x = 12;
    for (const item of key) {
        const size = sketch.measureText(item.name).width + 34;
        if (x + size > width && lines.at(-1).length) {
            lines.push([]);
            x = 12;
        }
        lines.at(-1).push([x, item]);
        x += size;
    }
    const top = 34 + (key.length ? 20 * lines.length : 0);
    const ctx = penOn(null, width, top + from.height / scale + 10);
    ctx.fillStyle = look.box;
    ctx.fillRect(0, 0, width, top + from.height / scale + 10);
    ctx.fillStyle = look.text;
    ctx.font = `bold 15${FONT}`;
    ctx.fillText(title, 12, 22);
    ctx.font = `12${FONT}`;
    lines.forEach((line, row) => line.forEach(([left, item]) => {
        ctx.fillStyle = fillOf(ctx, item);
        ctx.fillRect(left, 34 + 20 * row, 12, 12);
        ctx.fillStyle = look.text;
        ctx.fillText(item.name, left + 17, 44 + 20 * row);
    }));
    ctx.drawImage(from, 0, top, width, from.height / scale);
    return ctx.canvas;
}

/* Adds a chart. Each of `choices` is {label, values}, with values [[value, text]...]; null is
 * left out. `draw(host, width, ...chosen)` returns what is drawn as {key, columns, rows}. It is
 * called again for other choices, colours and widths. */
function addChart(section, title, choices, draw) {
    const figure = make("figure", section, undefined, "chart");
    const head = make("figcaption", figure);
    make("strong", head, title);
    const tools = make("span", head, undefined, "tools");
    const selects = choices.map(choice => {
        if (!choice || choice.values.length < 2)
            return { value: choice?.values[0]?.[0] };
        const select = make("select", make("label", tools, `${choice.label} `));
        for (const [value, text] of choice.values)
            make("option", select, text).value = value;
        return select;
    });
    const name = title.replace(/[^A-Za-z0-9]+/g, "-").toLowerCase();
    const button = (text, action) => {
        const element = make("button", tools, text);
        element.setAttribute("aria-label", `Save the chart ${title} as ${text}`);
        element.onclick = action;
    };
    let drawn;
    button("CSV",
        () => download(
            `${name}.csv`, new Blob([csvOf(drawn.columns, drawn.rows)], { type: "text/csv" })));
    button("PNG",
        () => pictureOf(figure, title, drawn.key)
                  .toBlob(blob => download(`${name}.png`, blob), "image/png"));
    const key = make("ul", figure, undefined, "key");
    const host = make("div", figure, undefined, "plot");
    figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", `Chart: ${title}. The table below has its values.`);
    const chart = {
        redraw() {
            host.plot?.destroy();
            host.plot = null;
            host.replaceChildren();
            const width = document.documentElement.hasAttribute("data-print") ?
                680 :
                Math.max(320, host.clientWidth);
            drawn = draw(host, width, ...selects.map(select => select.value));
            key.replaceChildren();
            for (const item of drawn.key) {
                const element = make("li", key);
                swatch(element, item);
                element.append(item.name);
            }
        },
    };
    for (const select of selects)
        select.onchange = chart.redraw;
    charts.push(chart);
    chart.redraw();
}

const UNITS = {
    label: "Unit",
    values: [["percent", "percent"], ["time", "time"]]
};

/* The choice of a rank, if there are several. */
function rankChoice(rows, all) {
    const ranks = distinct(rows.map(r => r.rank)).sort((a, b) => a - b);
    return {
        label: "Rank",
        values: [
            ...(ranks.length > 1 && all ? [["all", all]] : []),
            ...ranks.map(r => [String(r), String(r ?? "\u2013")])
        ]
    };
}
const ofRank = (rows, rank) => rank === "all" ? rows : rows.filter(r => String(r.rank) === rank);

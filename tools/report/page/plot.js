/* plot.js - draws bars, lines and strips. Bars with names have a canvas of their own; what has
 * an axis of steps, ranks or time is drawn by uPlot, which zooms and pans. */

/* ---- bars to the right, with names ---- */

function niceTicks(most, count) {
    const raw = most / count, size = 10 ** Math.floor(Math.log10(raw));
    const step = size * [1, 2, 5, 10].find(n => n * size >= raw);
    return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

/* Each of `items` is {name, parts, low, high}, with parts [{name, color, isHatched, value}].
 * `low` and `high` are drawn as whiskers. `most` is the end of the axis, if it is known. */
function nameBars(host, width, items, format, most) {
    const row = 26, foot = 24, height = items.length * row + foot + 4;
    const ctx = penOn(host, width, height);
    const totals = items.map(item => sum(item.parts, part => part.value));
    const end =
        most ?? (Math.max(...items.map((item, i) => Math.max(totals[i], item.high ?? 0))) || 1);
    ctx.font = `13${FONT}`;
    ctx.textBaseline = "middle";
    const room = Math.min(0.42 * width,
        Math.max(...items.map(item => ctx.measureText(item.name.slice(0, 200)).width)) + 14);
    const names = items.map(item => shortened(ctx, item.name, room - 12));
    const isStack = items.some(item => item.parts.length > 1), tail = isStack ? 20 : 92;
    const at = value => room + (width - room - tail) * value / end;
    ctx.font = `11${FONT}`;
    ctx.textAlign = "center";
    for (const tick of niceTicks(end, Math.max(2, Math.min(8, (width - room) / 90)))) {
        ctx.fillStyle = look.grid;
        ctx.fillRect(Math.round(at(tick)), 0, 1, height - foot);
        ctx.fillStyle = look.quiet;
        ctx.fillText(mark(format)(tick), at(tick), height - foot / 2);
    }
    items.forEach((item, i) => {
        const y = i * row + 4;
        let sofar = 0;
        ctx.font = `13${FONT}`;
        ctx.fillStyle = look.text;
        ctx.textAlign = "right";
        ctx.fillText(names[i], room - 8, y + 9);
        ctx.textAlign = "center";
        ctx.font = `11${FONT}`;
        for (const part of item.parts) {
            const left = at(sofar), length = at(sofar + part.value) - left;
            ctx.fillStyle = fillOf(ctx, part);
            ctx.fillRect(left, y, Math.max(length - (isStack ? 1 : 0), part.value ? 1 : 0), 18);
            sofar += part.value;
            labelIn(ctx, part, left, y, length, isStack ? format(part.value) : null);
        }
        if (item.high !== undefined && item.high > item.low)
            whisker(ctx, at(item.low), at(item.high), y);
        if (!isStack) {
            ctx.font = `12${FONT}`;
            ctx.fillStyle = look.text;
            ctx.textAlign = "left";
            ctx.fillText(
                item.text ?? format(totals[i]), at(Math.max(totals[i], item.high ?? 0)) + 6, y + 9);
        }
    });
    ctx.canvas.onmousemove = event => {
        const item = items[Math.floor(event.offsetY / row)];
        showTip(host, event.offsetX, event.offsetY, item && [
            (item.full ?? item.name).slice(0, 400),
            ...item.parts.filter(part => part.value).map(part => ({
                ...part,
                text: isStack ? `${part.name}: ${format(part.value)}` :
                                item.text ?? format(part.value)
            })),
            ...(item.high !== undefined ?
                    [`lowest ${format(item.low)}, highest ${format(item.high)}`] :
                    []),
            ...(item.more ?? [])
        ]);
    };
    ctx.canvas.onmouseleave = () => showTip(host);
}

/* Writes the name and value of a part into it, if there is room. */
function labelIn(ctx, part, left, y, length, value) {
    if (!value)
        return;
    const text = [`${part.name} ${value}`, value].find(t => ctx.measureText(t).width + 10 < length);
    if (!text)
        return;
    if (part.isHatched) {
        const size = ctx.measureText(text).width + 6;
        ctx.fillStyle = part.color;
        ctx.fillRect(left + length / 2 - size / 2, y + 2, size, 14);
    }
    ctx.fillStyle = inkOn(part.color);
    ctx.fillText(text, left + length / 2, y + 9.5);
}

function whisker(ctx, from, to, y) {
    ctx.fillStyle = look.box;
    ctx.fillRect(from - 1, y + 7, to - from + 2, 4);
    ctx.fillStyle = look.text;
    ctx.fillRect(from, y + 8, to - from, 2);
    ctx.fillRect(from - 1, y + 4, 2, 10);
    ctx.fillRect(to - 1, y + 4, 2, 10);
}

/* ---- uPlot ---- */

/* Adds zoom by keys and Ctrl and the wheel, and pan by keys and Shift and dragging. */
function navigate(host, plot, low, high) {
    const set = (min, max) => {
        const size = Math.min(max - min, high - low),
              from = Math.max(low, Math.min(min, high - size));
        plot.setScale("x", { min: from, max: from + size });
    };
    const zoom = (factor, share = 0.5) => {
        const { min, max } = plot.scales.x, at = min + (max - min) * share;
        set(at - (at - min) * factor, at + (max - at) * factor);
    };
    const pan = share => {
        const { min, max } = plot.scales.x;
        set(min + (max - min) * share, max + (max - min) * share);
    };
    plot.root.tabIndex = 0;
    plot.root.setAttribute("role", "application");
    plot.root.setAttribute(
        "aria-label", "Zoom with plus and minus, pan with the arrow keys, 0 shows everything.");
    plot.root.onkeydown = event => {
        const action = {
            "+": () => zoom(0.5),
            "=": () => zoom(0.5),
            "-": () => zoom(2),
            ArrowLeft: () => pan(-0.2),
            ArrowRight: () => pan(0.2),
            0: () => set(low, high),
            Home: () => set(low, high)
        }[event.key];
        if (action && !event.ctrlKey && !event.metaKey && !event.altKey) {
            action();
            event.preventDefault();
        }
    };
    const over = plot.root.querySelector(".u-over");
    over.addEventListener("wheel", event => {
        if (!event.ctrlKey)
            return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 0.7 : 1.4, event.offsetX / over.clientWidth);
    }, { passive: false });
    over.addEventListener("mousedown", event => {
        if (!event.shiftKey)
            return;
        event.stopImmediatePropagation();
        let x = event.clientX;
        const move = next => {
            pan((x - next.clientX) / over.clientWidth);
            x = next.clientX;
        };
        document.addEventListener("mousemove", move);
        document.addEventListener(
            "mouseup", () => document.removeEventListener("mousemove", move), { once: true });
    }, { capture: true });
    over.addEventListener("dblclick", () => set(low, high));
    make("p", host,
        "Drag to zoom, Shift and drag to pan, double-click for all. Keys: + \u2212 \u2190 \u2192 0",
        "hint");
}

const axis = extra => ({
    stroke: look.quiet,
    font: `11${FONT}`,
    labelFont: `12${FONT}`,
    grid: { stroke: look.grid, width: 1 },
    ticks: { stroke: look.grid, width: 1 },
    ...extra
});

/* Draws data from `low` to `high` on the axis x. `tip(i, plot)` returns the lines of the box at
 * index i. */
function addPlot(
    host, width, data, { low, high, height = 280, x, y, series, tip, scale, draw, bands }) {
    const range = low < high ? [low, high] : [low - 0.5, high + 0.5];
    const plot = new uPlot({
        width,
        height,
        bands,
        legend: { show: false },
        cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
        scales: {
            x: { time: false, range: (u, min, max) => u.isReady ? [min, max] : range },
            y: { range: scale ?? ((u, min, max) => [0, max > 0 ? max * 1.05 : 1]) }
        },
        axes: [axis({ labelSize: 20, size: 32, ...x }), axis({ size: 78, ...y })],
        series,
        hooks: {
            draw: draw ? [draw] : [],
            ready: [u => {
                u.isReady = true;
            }],
            setCursor: [u => {
                const { left, top, idx } = u.cursor, over = u.root.querySelector(".u-over");
                showTip(host, left + over.offsetLeft, top + over.offsetTop,
                    left >= 0 && idx !== null && idx !== undefined ? tip(idx, u) : null);
            }]
        },
    },
        data, host);
    plot.root.querySelector(".u-over").addEventListener("mouseleave", () => showTip(host));
    host.plot = plot;
    navigate(host, plot, ...range);
    return plot;
}

function clipped(u, draw) {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    draw(u.ctx);
    u.ctx.restore();
}

/* Columns of stacked values over numbered places, such as ranks, steps or classes.
 * `values[part][place]`; `labels` are short, `names` go into the box. */
function columns(host, width, labels, names, parts, values, format, xLabel, most) {
    const sums = [];
    values.forEach((of, k) => sums.push(of.map((v, i) => v + (k ? sums[k - 1][i] : 0))));
    const hidden =
        parts.map(part => ({ label: part.name, paths: () => null, points: { show: false } }));
    const draw = u => clipped(u, ctx => {
        const step = Math.abs(u.valToPos(1, "x", true) - u.valToPos(0, "x", true));
        const bar = Math.max(1, Math.min(step * 0.86, 80 * devicePixelRatio));
        const inner = bar > 6 ? devicePixelRatio : 0;
        parts.forEach((part, k) => {
            ctx.fillStyle = fillOf(ctx, part);
            labels.forEach((_, i) => {
                const top = u.valToPos(sums[k][i], "y", true),
                      foot = u.valToPos(k ? sums[k - 1][i] : 0, "y", true);
                ctx.fillRect(u.valToPos(i, "x", true) - bar / 2, top, bar,
                    Math.max(foot - top - inner, values[k][i] ? 1 : 0));
            });
        });
    });
    const longest = Math.max(...labels.map(l => l.length));
    addPlot(host, width, [labels.map((_, i) => i), ...sums], {
        low: -0.6,
        high: labels.length - 0.4,
        draw,
        scale: most ? () => [0, most] : undefined,
        x: {
            label: xLabel,
            incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            space: 16 + 7 * longest,
            grid: { show: false },
            values: (u, at) => at.map(v => Number.isInteger(v) ? labels[v] ?? "" : "")
        },
        y: { values: (u, at) => at.map(mark(format)) },
        series: [{}, ...hidden],
        tip: i => [names[i],
            ...parts.map((part, k) => ({ ...part, text: `${part.name}: ${format(values[k][i])}` }))
                .filter((_, k) => values[k][i])],
    });
}

/* Lines: each of `series` is {name, color, x, y, isStepped, isPoints, width, band}. */
function lines(host, width, series, format, xLabel, xFormat) {
    const data = uPlot.join(series.map(s => thinned(s.x, s.y)));
    const bands =
        series.flatMap((s, i) => s.band ? [{ series: [i + 1, i + 2], fill: s.band }] : []);
    addPlot(host, width, data, {
        low: data[0][0],
        high: data[0].at(-1),
        bands,
        x: {
            label: xLabel,
            values: (u, at) => at.map(v => mark(xFormat)(v)),
            space: 80,
            incrs: xFormat === String ?
                [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000] :
                undefined
        },
        y: { values: (u, at) => at.map(mark(format)) },
        series: [
            {}, ...series.map(s => ({
                label: s.name,
                stroke: s.isPoints ? undefined : s.color,
                width: s.width ?? 1.5,
                spanGaps: true,
                paths: s.isPoints ? () => null :
                    s.isStepped   ? uPlot.paths.stepped({ align: 1 }) :
                                    undefined,
                points: s.isPoints ? { show: true, size: 8, stroke: s.color, fill: s.color } : {
                    show: !s.isStepped && s.x.length < 40,
                    size: 5,
                    stroke: s.color,
                    fill: s.color
                },
            }))
        ],
        tip: (i, u) => [`${xLabel} ${xFormat(data[0][i])}`,
            ...series.map((s, k) => ({ ...s, value: lastAt(data[k + 1], i, s.isPoints) }))
                .filter(s => s.value !== null)
                .slice(0, 12)
                .map(s => ({ ...s, text: `${s.name}: ${format(s.value)}` }))],
    });
}

/* The value at a point, or the one before it where a series has none there. */
function lastAt(values, i, isPoints) {
    while (!isPoints && i > 0 && (values[i] === null || values[i] === undefined))
        i--;
    return values[i] ?? null;
}

/* A row of cells for each name, coloured by a value from 0 to 1. Each of `rows` is {name,
 * cells}, with cells [{from, to, value, text}] in order. */
function strip(host, width, rows, xLabel, xFormat) {
    const cells = rows.flatMap(row => row.cells), low = Math.min(...cells.map(c => c.from)),
          high = Math.max(...cells.map(c => c.to));
    const shade = value =>
        `color-mix(in oklab, ${look.high} ${(100 * value).toFixed(1)}%, ${look.low})`;
    const gap = rows.length > 40 ? 0 : devicePixelRatio;
    const draw = u => clipped(u, ctx => rows.forEach((row, i) => {
        const top = u.valToPos(rows.length - i, "y", true),
              foot = u.valToPos(rows.length - i - 1, "y", true);
        for (const cell of row.cells) {
            const left = Math.floor(u.valToPos(cell.from, "x", true));
            ctx.fillStyle = shade(cell.value);
            ctx.fillRect(
                left, top, Math.ceil(u.valToPos(cell.to, "x", true)) - left, foot - top - gap);
        }
    }));
    const every = Math.ceil(rows.length / 32), x = [low, high];
    addPlot(host, width, [x, [0, 0]], {
        low,
        high,
        draw,
        scale: () => [0, rows.length],
        height: Math.min(64 + rows.length * (rows.length > 16 ? 10 : 24), 720),
        x: { label: xLabel, values: (u, at) => at.map(v => mark(xFormat)(v)), space: 80 },
        y: {
            grid: { show: false },
            splits: () => rows.map((_, i) => rows.length - i - 0.5),
            ticks: { show: false },
            values: () => rows.map((row, i) => i % every ? "" : row.name)
        },
        series: [{}, { paths: () => null, points: { show: false } }],
        tip: (i, u) => {
            const row = rows[rows.length - 1 - Math.floor(u.posToVal(u.cursor.top, "y"))],
                  at = u.posToVal(u.cursor.left, "x");
            const cell = row?.cells.find(c => c.from <= at && at < c.to);
            return cell && [row.name, `${xFormat(cell.from)} to ${xFormat(cell.to)}`, cell.text];
        },
    });
    return [0, 0.25, 0.5, 0.75, 1].map(value => entry(`${100 * value} %`, shade(value)));
}

/* Boxes from the first to the third quartile, with the median, and whiskers from the smallest to
 * the largest. Each of `items` is {name, color, min, p25, median, p75, max}. `isLog`: on powers
 * of 10. */
function boxes(host, width, items, format, isLog) {
    const row = 26, foot = 24, height = items.length * row + foot + 4,
          ctx = penOn(host, width, height);
    const known = items.flatMap(item => [item.min, item.p25, item.median, item.p75, item.max])
                      .filter(v => v > 0);
    const high = Math.ceil(Math.log10(Math.max(...known)) + 1e-9),
          low = Math.min(high - 1, Math.floor(Math.log10(Math.min(...known))));
    ctx.font = `13${FONT}`;
    const room = Math.min(0.42 * width,
        Math.max(...items.map(item => ctx.measureText(item.name.slice(0, 200)).width)) + 14);
    const most = Math.max(...known),
          ticks = isLog ? Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i)) :
                          niceTicks(most, 8);
    const share = value => isLog ?
        Math.max(0, Math.log10(Math.max(value, 1e-300)) - low) / (high - low) :
        value / most;
    const at = value => room + 6 + (width - room - 60) * share(value);
    ctx.textBaseline = "middle";
    for (const tick of ticks) {
        ctx.font = `11${FONT}`;
        ctx.textAlign = "center";
        ctx.fillStyle = look.grid;
        ctx.fillRect(Math.round(at(tick)), 0, 1, height - foot);
        ctx.fillStyle = look.quiet;
        ctx.fillText(mark(format)(tick), at(tick), height - foot / 2);
    }
    items.forEach((item, i) => {
        const y = i * row + 4;
        ctx.font = `13${FONT}`;
        ctx.fillStyle = look.text;
        ctx.textAlign = "right";
        ctx.fillText(shortened(ctx, item.name, room - 12), room - 8, y + 9);
        whisker(ctx, at(item.min), at(item.max), y);
        ctx.fillStyle = item.color;
        ctx.fillRect(at(item.p25), y, Math.max(2, at(item.p75) - at(item.p25)), 18);
        ctx.fillStyle = look.text;
        ctx.fillRect(at(item.median) - 1.5, y - 1, 3, 20);
    });
    ctx.canvas.onmousemove = event => {
        const item = items[Math.floor(event.offsetY / row)];
        showTip(host, event.offsetX, event.offsetY, item && [
            item.name, `largest ${format(item.max)}`, `third quartile ${format(item.p75)}`,
            `median ${format(item.median)}`, `first quartile ${format(item.p25)}`,
            `smallest ${format(item.min)}`
        ]);
    };
    ctx.canvas.onmouseleave = () => showTip(host);
}

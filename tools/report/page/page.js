"use strict";
/* Draws the report that stands in the page as JSON: the findings, then for each table its charts and the
 * table itself. Every text of the report is set as text, never as HTML. */
(() => {
    const report = JSON.parse(document.getElementById("report").textContent);
    const main = document.getElementById("main");
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const ink = getComputedStyle(document.documentElement);
    const textColor = ink.getPropertyValue("--text").trim();
    const gridColor = ink.getPropertyValue("--grid").trim();

    /* The colours of Okabe and Ito, which people who confuse colours can tell apart, and marks of grey for
     * idle time. */
    const PARTS = {
        compute: "#0072b2", transfer: "#e69f00", waiting: "#d55e00", copy: "#009e73", sync: "#cc79a7",
        cpu: "#f0e442", loader: "#56b4e9", launch: "#999999", queued: "#8a6d3b", unknown: isDark ? "#e0e0e0" : "#444444",
    };
    const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];

    /* ---- small helpers ---- */

    function make(tag, parent, text, className) {
        const element = document.createElement(tag);
        if (text !== undefined)
            element.textContent = text;
        if (className)
            element.className = className;
        if (parent)
            parent.append(element);
        return element;
    }

    function span(ns) {
        if (ns === null)
            return "-";
        for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]])
            if (Math.abs(ns) >= size)
                return `${(ns / size).toFixed(ns >= 100 * size ? 1 : ns >= 10 * size ? 2 : 3)} ${unit}`;
        return `${Math.round(ns)} ns`;
    }

    function bytes(count) {
        for (const [unit, size] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
            if (count >= size)
                return `${(count / size).toFixed(count >= 100 * size ? 1 : 2)} ${unit}`;
        return `${count} B`;
    }

    function shown(value, column) {
        if (value === null)
            return "-";
        switch (column.unit) {
        case "ns": return span(value);
        case "bytes": return bytes(value);
        case "ratio": return `${(100 * value).toFixed(1)} %`;
        case "number": return value.toPrecision(5).replace(/\.?0+$/, "");
        default: return String(value);
        }
    }

    function rowsOf(name) {
        const table = report.metrics[name];
        return table ? table.rows.map(row => Object.fromEntries(table.columns.map((c, i) => [c.name, row[i]]))) : [];
    }

    /* Returns whether a rank uses several devices, so that the device must be named. */
    function isSeveral(rows) {
        const first = new Map();
        return rows.some(row => {
            if (!first.has(row.rank))
                first.set(row.rank, row.device);
            return first.get(row.rank) !== row.device;
        });
    }

    function who(row, several) {
        const rank = row.rank === null ? "file" : `rank ${row.rank}`;
        return several && row.device !== undefined && row.device !== null ? `${rank} GPU ${row.device}` : rank;
    }

    function download(name, blob) {
        const link = make("a");
        link.href = URL.createObjectURL(blob);
        link.download = name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }

    function csvOf(columns, rows) {
        const quoted = value => value === null ? "" :
            /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
        return [columns, ...rows].map(row => row.map(quoted).join(",") + "\r\n").join("");
    }

    /* ---- charts ---- */

    let charts = 0;

    /* Adds a box with a title, its buttons, and room for a chart. `csv` returns the columns and rows that
     * are drawn. */
    function box(parent, title, csv) {
        const figure = make("figure", parent, undefined, "chart");
        const tools = make("div", figure, undefined, "tools");
        make("strong", tools, title);
        const name = `${title.replace(/[^A-Za-z0-9]+/g, "-").toLowerCase()}-${++charts}`;
        const save = make("button", tools, "CSV");
        save.onclick = () => download(`${name}.csv`, new Blob([csvOf(...csv())], { type: "text/csv" }));
        const picture = make("button", tools, "PNG");
        picture.onclick = () => figure.querySelector("canvas")
            .toBlob(blob => download(`${name}.png`, blob), "image/png");
        save.setAttribute("aria-label", `Save ${title} as CSV`);
        picture.setAttribute("aria-label", `Save ${title} as PNG`);
        figure.tools = tools;
        figure.setAttribute("role", "group");
        figure.setAttribute("aria-label", `Chart: ${title}. The table below has its values.`);
        return figure;
    }

    function keyOf(figure, names, colors) {
        const list = make("ul", figure, undefined, "key");
        names.forEach((name, i) => {
            const item = make("li", list);
            make("i", item).style.background = colors[i];
            item.append(name);
        });
    }

    const width = () => Math.max(480, Math.min(1120, main.clientWidth - 24));
    const axis = extra => ({ stroke: textColor, grid: { stroke: gridColor }, ticks: { stroke: gridColor }, ...extra });

    /* Bars of stacked values. `values[series][category]`. */
    function stackedBars(figure, categories, names, colors, values, format) {
        keyOf(figure, names, colors);
        const sums = [];
        values.forEach((of, k) => sums.push(of.map((v, i) => v + (k ? sums[k - 1][i] : 0))));
        const draw = u => {
            const ctx = u.ctx, step = Math.abs(u.valToPos(1, "x", true) - u.valToPos(0, "x", true));
            const bar = Math.max(1, Math.min(step * 0.8, 90 * devicePixelRatio));
            ctx.save();
            ctx.beginPath();
            ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
            ctx.clip();
            for (let k = 0; k < names.length; k++) {
                ctx.fillStyle = colors[k];
                categories.forEach((_, i) => {
                    const top = u.valToPos(sums[k][i], "y", true);
                    const foot = u.valToPos(k ? sums[k - 1][i] : 0, "y", true);
                    ctx.fillRect(u.valToPos(i, "x", true) - bar / 2, top, bar, foot - top);
                });
            }
            ctx.restore();
        };
        return new uPlot({
            width: width(), height: 300, scales: { x: { time: false, range: (u, min, max) => [min - 0.6, max + 0.6] }, y: { range: (u, min, max) => [0, max || 1] } },
            axes: [axis({ values: (u, at) => at.map(v => Number.isInteger(v) ? categories[v] ?? "" : ""), incrs: [1, 2, 5, 10, 20, 50, 100] }),
                   axis({ values: (u, at) => at.map(format), size: 80 })],
            series: [{ label: "", value: (u, v) => v === null ? "--" : categories[v] ?? "" },
                     ...names.map((label, k) => ({ label, stroke: colors[k], paths: () => null, points: { show: false },
                         value: (u, v, s, i) => i === null || i === undefined ? "--" : format(values[k][i]) }))],
            hooks: { draw: [draw] },
        }, [categories.map((_, i) => i), ...sums], figure);
    }

    /* Lines over a number, at most 2,000 points each: of more, the lowest and highest of each group stay. */
    function thinned(x, y) {
        const most = 1000, size = Math.ceil(x.length / most);
        if (x.length <= 2 * most)
            return [x, y];
        const out = [[], []];
        for (let i = 0; i < x.length; i += size) {
            let low = i, high = i;
            for (let k = i; k < Math.min(i + size, x.length); k++) {
                if (y[k] < y[low]) low = k;
                if (y[k] > y[high]) high = k;
            }
            for (const k of low < high ? [low, high] : low > high ? [high, low] : [low]) {
                out[0].push(x[k]);
                out[1].push(y[k]);
            }
        }
        return out;
    }

    function lines(figure, xLabel, series, format) {
        const tables = series.map(s => thinned(s.x, s.y));
        const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
        keyOf(figure, series.map(s => s.label), series.map((_, i) => COLORS[i % COLORS.length]));
        return new uPlot({
            width: width(), height: 260, scales: { x: { time: false }, y: { range: (u, min, max) => [0, max || 1] } },
            axes: [axis({ label: xLabel, labelSize: 20 }), axis({ values: (u, at) => at.map(format), size: 80 })],
            series: [{ label: xLabel }, ...series.map((s, i) => ({ label: s.label, stroke: COLORS[i % COLORS.length],
                width: 2, spanGaps: true, value: (u, v) => v === null ? "--" : format(v) }))],
        }, data, figure);
    }

    /* A line of bars to the right, as HTML: long names stay readable. */
    function listBars(figure, items, format) {
        const most = Math.max(...items.map(item => item.value), 1);
        const canvas = make("canvas", figure), scale = devicePixelRatio || 1, row = 22, left = 430;
        canvas.width = width() * scale;
        canvas.height = (items.length * row + 6) * scale;
        canvas.style.width = `${width()}px`;
        canvas.style.height = `${items.length * row + 6}px`;
        const ctx = canvas.getContext("2d");
        ctx.scale(scale, scale);
        ctx.font = "13px system-ui, 'DejaVu Sans', sans-serif";
        ctx.textBaseline = "middle";
        items.forEach((item, i) => {
            const y = i * row + row / 2 + 3, length = (width() - left - 110) * item.value / most;
            let name = item.name;
            if (name.length > 200) /* measuring is slow */
                name = `${name.slice(0, 100)}\u2026${name.slice(-100)}`;
            while (name.length > 8 && ctx.measureText(name).width > left - 16)
                name = `${name.slice(0, name.length / 2 - 3)}\u2026${name.slice(name.length / 2 + 2)}`;
            ctx.fillStyle = textColor;
            ctx.textAlign = "right";
            ctx.fillText(name, left - 8, y);
            ctx.textAlign = "left";
            ctx.fillText(format(item.value), left + length + 6, y);
            ctx.fillStyle = item.color;
            ctx.fillRect(left, y - 7, Math.max(length, 1), 14);
        });
    }

    /* ---- the charts of each table ---- */

    const draw = {
        parts(section) {
            const rows = rowsOf("parts"), several = isSeveral(rows);
            const hasSteps = rows.some(r => r.step !== null), sums = new Map();
            for (const row of rows) {
                if (hasSteps && row.step === null)
                    continue;
                const name = who(row, several);
                const sum = sums.get(name) ?? Object.fromEntries(Object.keys(PARTS).map(p => [p, 0]));
                for (const part of Object.keys(PARTS))
                    sum[part] += row[`${part}_ns`];
                sum.steps = (sum.steps ?? 0) + 1;
                sums.set(name, sum);
            }
            const ranks = [...sums.keys()], names = Object.keys(PARTS).filter(p => ranks.some(r => sums.get(r)[p]));
            if (!ranks.length)
                return;
            const total = rank => names.reduce((all, p) => all + sums.get(rank)[p], 0) || 1;
            const figure = box(section, "Where a step went", () => [["rank", ...names.map(p => `${p}_ns`)],
                ranks.map(r => [r, ...names.map(p => sums.get(r)[p] / sums.get(r).steps)])]);
            const choice = make("select", figure.tools);
            choice.setAttribute("aria-label", "Unit");
            make("option", choice, "percent").value = "percent";
            make("option", choice, "time").value = "time";
            let chart;
            const redraw = () => {
                chart?.destroy();
                figure.querySelector(".key")?.remove();
                const isTime = choice.value === "time";
                const values = names.map(p => ranks.map(r => isTime ? sums.get(r)[p] / sums.get(r).steps
                                                                    : 100 * sums.get(r)[p] / total(r)));
                chart = stackedBars(figure, ranks, names, names.map(p => PARTS[p]), values,
                                    isTime ? span : v => `${v.toFixed(v < 10 ? 1 : 0)} %`);
            };
            choice.onchange = redraw;
            redraw();
        },
        steps(section) {
            const rows = rowsOf("steps").filter(r => r.step !== null);
            const several = isSeveral(rows), of = new Map();
            for (const row of rows) {
                const series = of.get(who(row, several)) ?? { label: who(row, several), x: [], y: [] };
                series.x.push(row.step);
                series.y.push(row.step_ns);
                of.set(series.label, series);
            }
            const series = [...of.values()].filter(s => s.x.length > 1).slice(0, 8);
            for (const s of series) {
                const order = s.x.map((_, i) => i).sort((a, b) => s.x[a] - s.x[b]);
                s.x = order.map(i => s.x[i]);
                s.y = order.map(i => s.y[i]);
            }
            if (!series.length)
                return;
            const figure = box(section, "Length of each step", () => [["rank", "step", "step_ns"],
                series.flatMap(s => s.x.map((x, i) => [s.label, x, s.y[i]]))]);
            lines(figure, "step", series, span);
        },
        idle(section) {
            top(section, "Idle time by cause and place", "idle",
                r => `${r.cause}: ${r.line ?? r.place ?? r.call ?? "?"}`, "per_step_ns", r => PARTS[r.cause]);
        },
        waits(section) {
            top(section, "Waits by line of code", "waits", r => `${r.line ?? r.place ?? "?"}: ${r.call}`,
                "per_step_ns", () => PARTS.sync);
        },
        kernels(section) {
            const colors = { compute: PARTS.compute, communication: PARTS.transfer, copy: PARTS.copy };
            top(section, "Kernels and copies", "kernels", r => r.name, "sum_ns", r => colors[r.class]);
        },
        overlap(section) {
            const rows = rowsOf("overlap"), several = isSeveral(rows);
            const names = ["compute", "compute_communication", "communication", "compute_copy", "communication_copy",
                           "all", "copy", "idle"].filter(n => rows.some(r => r[`${n}_ns`]));
            if (!rows.length)
                return;
            const figure = box(section, "Work that runs side by side", () => [["rank", ...names.map(n => `${n}_ns`)],
                rows.map(r => [who(r, several), ...names.map(n => r[`${n}_ns`])])]);
            stackedBars(figure, rows.map(r => who(r, several)), names.map(n => n.replaceAll("_", " and ")),
                names.map((n, i) => n === "idle" ? gridColor : COLORS[i]),
                names.map(n => rows.map(r => 100 * r[`${n}_ns`] / (r.length_ns || 1))), v => `${v.toFixed(1)} %`);
        },
        launch(section) {
            top(section, "Delay from launch to start, mean", "launch", r => r.call, "delay_mean_ns", () => PARTS.launch);
        },
        copies(section) {
            top(section, "Copies and memsets", "copies", r => r.name, "sum_ns", () => PARTS.copy);
        },
    };

    /* Draws the largest groups of a table, as means over the ranks. */
    function top(section, title, table, name, value, color) {
        const sums = new Map(), ranks = new Set();
        for (const row of rowsOf(table)) {
            ranks.add(row.rank);
            const sum = sums.get(name(row)) ?? { name: name(row), value: 0, color: color(row) };
            sum.value += row[value];
            sums.set(sum.name, sum);
        }
        const items = [...sums.values()].sort((a, b) => b.value - a.value).slice(0, 15);
        items.forEach(item => item.value /= ranks.size);
        if (!items.length || !items[0].value)
            return;
        listBars(box(section, ranks.size > 1 ? `${title}, mean of ${ranks.size} ranks` : title,
                     () => [["name", value], items.map(item => [item.name, item.value])]), items, span);
    }

    /* ---- tables ---- */

    const ROWS_SHOWN = 200;

    function addTable(section, name, table) {
        const tools = make("div", section, undefined, "tools");
        const label = make("label", tools, "Filter ");
        const filter = make("input", label);
        const save = make("button", tools, "CSV");
        const count = make("span", tools, "", "sure");
        const scroll = make("div", section, undefined, "scroll");
        scroll.tabIndex = 0;
        scroll.setAttribute("role", "region");
        scroll.setAttribute("aria-label", `Table ${name}`);
        const element = make("table", scroll);
        const head = make("tr", make("thead", element));
        const body = make("tbody", element);
        let sorted = -1, isDown = false;
        const wanted = () => {
            const word = filter.value.toLowerCase();
            const rows = table.rows.filter(row => !word || row.some(v => v !== null && String(v).toLowerCase().includes(word)));
            if (sorted >= 0)
                rows.sort((a, b) => {
                    const [x, y] = isDown ? [b[sorted], a[sorted]] : [a[sorted], b[sorted]];
                    if (x === null || y === null)
                        return (x === null) - (y === null);
                    return typeof x === "number" ? x - y : String(x).localeCompare(String(y));
                });
            return rows;
        };
        const fill = () => {
            const rows = wanted();
            body.replaceChildren();
            for (const row of rows.slice(0, ROWS_SHOWN)) {
                const line = make("tr", body);
                row.forEach((value, i) => {
                    const column = table.columns[i];
                    const cell = make("td", line, shown(value, column), column.type === "string" ? "text" : "");
                    if (column.type === "string" && value !== null)
                        cell.title = value.slice(0, 1000);
                });
            }
            count.textContent = rows.length > ROWS_SHOWN ? `${ROWS_SHOWN} of ${rows.length} rows are shown; CSV has all`
                                                         : `${rows.length} rows`;
        };
        table.columns.forEach((column, i) => {
            const cell = make("th", head, undefined, column.type === "string" ? "text" : "");
            cell.scope = "col";
            const button = make("button", cell, column.name.replace(/_(ns|bytes|ratio)$/, "").replaceAll("_", " "));
            button.title = `Sort by ${column.name}`;
            button.onclick = () => {
                isDown = sorted === i ? !isDown : column.type === "number";
                sorted = i;
                head.querySelectorAll("th").forEach(th => th.removeAttribute("aria-sort"));
                cell.setAttribute("aria-sort", isDown ? "descending" : "ascending");
                fill();
            };
        });
        filter.oninput = fill;
        save.setAttribute("aria-label", `Save table ${name} as CSV`);
        save.onclick = () => download(`${name}.csv`, new Blob([csvOf(table.columns.map(c => c.name), wanted())],
                                                              { type: "text/csv" }));
        fill();
        table.notes.forEach(note => make("p", section, note, "meaning"));
    }

    /* ---- the page ---- */

    function addFindings() {
        const section = make("section", main);
        make("h2", section, "The largest losses").id = "findings";
        if (!report.findings.length)
            make("p", section, "No loss takes 1 % of a step or more.");
        const list = make("ol", section, undefined, "findings");
        for (const finding of report.findings) {
            const item = make("li", list);
            item.style.setProperty("--part", PARTS[finding.part]);
            make("span", item, `${(100 * finding.share_ratio).toFixed(1)} %, ${span(finding.per_step_ns)} a step`, "share");
            make("div", item, finding.id.replace("-", " "), "loss");
            make("div", item, finding.text);
            if (finding.advice)
                make("div", item, finding.advice, "advice");
            make("div", item, `${finding.sure}; ${finding.ranks} rank${finding.ranks === 1 ? "" : "s"}`, "sure");
        }
    }

    document.getElementById("title").textContent = document.title;
    document.getElementById("head").textContent = report.head;
    document.getElementById("verdict").textContent = report.verdict;
    addFindings();
    const contents = document.getElementById("contents");
    for (const [id, text] of [["findings", "losses"], ...Object.keys(report.metrics).map(name => [name, name])]) {
        const link = make("a", contents, text);
        link.href = `#${id}`;
    }
    for (const [name, table] of Object.entries(report.metrics)) {
        const section = make("section", main);
        const title = make("h2", section, table.title[0].toUpperCase() + table.title.slice(1));
        title.id = name;
        title.tabIndex = -1;
        make("p", section, table.formula, "meaning");
        draw[name]?.(section);
        addTable(section, name, table);
    }
})();

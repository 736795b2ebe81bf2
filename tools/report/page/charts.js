/* charts.js - the charts of each table, by the table's name. A chart appears only if its table has rows
 * to draw; a table without an entry here is shown as a table alone. */

const LISTED = 15;        /* bars in a list */
const RANKS_AS_ROWS = 12; /* more ranks are drawn as columns */

/* Bars of parts for each rank. `rows` are {name, short, values}, with values by part. */
function rankBars(host, width, rows, parts, unit, label) {
    const used = parts.filter(part => rows.some(row => row.values[part.name]));
    const total = row => sum(used, part => row.values[part.name]) || 1;
    const value = (row, part) => (row.values[part.name] ?? 0) * (unit === "percent" ? 100 / total(row) : 1);
    const format = unit === "percent" ? percent : span, most = unit === "percent" ? 100 : undefined;
    if (rows.length <= RANKS_AS_ROWS)
        nameBars(host, width, rows.map(row => ({
            name: row.name, parts: used.map(part => ({ ...part, value: value(row, part) })) })), format, most);
    else
        columns(host, width, rows.map(row => row.short), rows.map(row => row.name), used,
                used.map(part => rows.map(row => value(row, part))), format, label, most);
    return { key: used, columns: [label, ...used.map(part => part.name)],
             rows: rows.map(row => [row.short, ...used.map(part => value(row, part))]) };
}

/* Sums the parts of each rank and device; `per` is what they are divided by. */
function byRank(rows, valuesOf, per = () => 1) {
    const name = namer(rows);
    return [...groupBy(rows, name)].map(([who, of]) => {
        const values = {};
        for (const row of of)
            for (const [part, value] of Object.entries(valuesOf(row)))
                values[part] = (values[part] ?? 0) + (value ?? 0);
        for (const part of Object.keys(values))
            values[part] /= per(of);
        return { name: who, short: who.replace(/^rank /, "").replace(" GPU ", "."), values };
    });
}

/* The largest groups of a table: of one rank, or the mean over the ranks with the lowest and highest. */
function listChart(section, title, table, { name, value, color, format = span, filter, most = LISTED, keep = () => true }) {
    const all = rowsOf(table).filter(row => row[value] !== null && keep(row));
    if (!all.some(row => row[value] > 0))
        return;
    const ranks = rankChoice(all, "mean of all");
    const classes = filter && { label: filter.label, values: [["", "all"], ...distinct(all.map(r => r[filter.column])).map(c => [c, c])] };
    addChart(section, title, [ranks, classes], (host, width, rank, wanted) => {
        const rows = ofRank(all, rank).filter(row => !wanted || row[filter.column] === wanted);
        const count = rank === "all" ? distinct(all.map(r => r.rank)).length : 1;
        const items = [...groupBy(rows, name)].map(([label, of]) => {
            const sums = [...groupBy(of, r => r.rank).values()].map(r => sum(r, row => row[value]));
            const mean = sum(sums, v => v) / count;
            return { name: label, mean, low: sums.length < count ? 0 : Math.min(...sums), high: Math.max(...sums),
                     look: color(of[0]) };
        }).filter(item => item.mean > 0).sort((a, b) => b.mean - a.mean).slice(0, most);
        if (items.length)
            nameBars(host, width, items.map(item => ({
                name: item.name, parts: [{ ...item.look, value: item.mean }],
                ...(count > 1 ? { low: item.low, high: item.high } : {}) })), format);
        else
            make("p", host, "Nothing of this kind.");
        const key = [...new Map(items.map(item => [item.look.name, item.look])).values()];
        return { key: key.length > 1 || filter ? key : [], columns: ["name", value, "lowest", "highest"],
                 rows: items.map(item => [item.name, item.mean, item.low, item.high]) };
    });
}

const placeOf = row => row.line ?? row.place ?? row.call ?? "?";
const only = (name, color) => () => entry(name, color);

/* One line for each name, over x. Of more than eight ranks, the median and the range of all. */
function seriesChart(section, title, rows, { x, y, name, format, xLabel, xFormat, isStepped, choices = [] }) {
    const usable = rows.filter(row => row[x] !== null && row[y] !== null);
    if (distinct(usable.map(row => row[x])).length < 2)
        return;
    addChart(section, title, choices, (host, width, ...chosen) => {
        const wanted = choices.reduce((left, choice, i) => choice ? choice.apply(left, chosen[i]) : left, usable);
        const groups = [...groupBy(wanted, name)];
        const series = groups.length <= 8 ? groups.map(([label, of], i) => {
            const sorted = of.slice().sort((a, b) => a[x] - b[x]);
            return { name: label, color: COLORS[i], x: sorted.map(r => r[x]), y: sorted.map(r => r[y]), isStepped };
        }) : rangeOf(wanted, x, y);
        lines(host, width, series, format, xLabel, xFormat);
        return { key: series.map(s => entry(s.name, s.color)), columns: ["series", x, y],
                 rows: series.flatMap(s => s.x.map((at, i) => [s.name, at, s.y[i]])) };
    });
}

function rangeOf(rows, x, y) {
    const at = [...groupBy(rows, row => row[x])].sort((a, b) => a[0] - b[0]);
    const sorted = at.map(([, of]) => of.map(row => row[y]).sort((a, b) => a - b));
    const line = (name, color, pick, extra) => ({ name, color, x: at.map(a => a[0]), y: sorted.map(pick), ...extra });
    return [line("highest", COLORS[1], v => v.at(-1), { band: "#0072b233" }), line("lowest", COLORS[2], v => v[0]),
            line("median", COLORS[0], v => v[v.length >> 1], { width: 2.5 })];
}

const CHARTS = {
    parts(section) {
        const all = rowsOf("parts"), rows = inSteps(all);
        const parts = Object.keys(PARTS).map(partEntry);
        const valuesOf = row => Object.fromEntries(parts.map(part => [part.name, row[`${part.name}_ns`]]));
        if (!rows.length)
            return;
        addChart(section, "Where a step went", [UNITS], (host, width, unit) =>
            rankBars(host, width, byRank(rows, valuesOf, of => of.length), parts, unit, "rank"));
        const name = namer(rows);
        if (distinct(rows.map(row => row.step)).length < 2)
            return;
        addChart(section, "Each step", [rankChoice(rows, "mean of all"), UNITS], (host, width, rank, unit) => {
            const steps = [...groupBy(ofRank(rows, rank), row => row.step)].sort((a, b) => a[0] - b[0]).map(([step, of]) => ({
                name: `step ${step}`, short: String(step),
                values: Object.fromEntries(parts.map(part => [part.name, sum(of, row => row[`${part.name}_ns`]) / of.length])) }));
            const used = parts.filter(part => steps.some(step => step.values[part.name]));
            const total = step => sum(used, part => step.values[part.name]) || 1;
            const values = used.map(part => steps.map(step => step.values[part.name] * (unit === "percent" ? 100 / total(step) : 1)));
            columns(host, width, steps.map(s => s.short), steps.map(s => s.name), used, values,
                    unit === "percent" ? percent : span, "step", unit === "percent" ? 100 : undefined);
            return { key: used, columns: ["step", ...used.map(part => part.name)],
                     rows: steps.map((step, i) => [step.short, ...values.map(of => of[i])]) };
        });
    },
    idle(section) {
        const rows = rowsOf("idle");
        if (!rows.length)
            return;
        addChart(section, "Idle time by cause", [UNITS], (host, width, unit) =>
            rankBars(host, width, byRank(rows, row => ({ [row.cause]: row.per_step_ns })), IDLE.map(partEntry), unit, "rank"));
        listChart(section, "Idle time by place, in a step", "idle", {
            name: row => `${row.cause}: ${placeOf(row)}`, value: "per_step_ns", color: row => partEntry(row.cause),
            filter: { label: "Cause", column: "cause" } });
    },
    waits(section) {
        listChart(section, "Waits by line of code, in a step", "waits", {
            name: row => `${row.line ?? row.place ?? "?"}: ${row.call}`, value: "per_step_ns", color: only("wait", PARTS.sync) });
    },
    steps(section) {
        const rows = rowsOf("steps").filter(row => row.step !== null);
        seriesChart(section, "Length of each step", rows, {
            x: "step", y: "step_ns", name: namer(rows), format: span, xLabel: "step", xFormat: String });
    },
    kernels(section) {
        listChart(section, "Kernels and copies with the most time", "kernels", {
            name: row => row.name, value: "sum_ns", color: row => entry(row.class, CLASSES[row.class] ?? COLORS[7]),
            filter: { label: "Class", column: "class" } });
    },
    overlap(section) {
        const rows = rowsOf("overlap");
        if (!rows.length)
            return;
        const temporal = [entry("compute", PARTS.compute), entry("other work", PARTS.copy), entry("idle", PARTS.launch, true)];
        addChart(section, "Computing, other work and idle time", [UNITS], (host, width, unit) =>
            rankBars(host, width, byRank(rows, row => ({
                compute: row.compute_ns + row.compute_communication_ns + row.compute_copy_ns + row.all_ns,
                "other work": row.communication_ns + row.copy_ns + row.communication_copy_ns, idle: row.idle_ns,
            })), temporal, unit, "rank"));
        const kinds = ["compute", "compute and communication", "communication", "compute and copy", "communication and copy",
                       "all", "copy", "idle"].map((name, i) => name === "idle" ? entry(name, PARTS.launch, true) : entry(name, COLORS[i]));
        const column = kind => `${kind.name.replaceAll(" and ", "_")}_ns`;
        addChart(section, "Work that runs side by side", [UNITS], (host, width, unit) =>
            rankBars(host, width, byRank(rows, row => Object.fromEntries(kinds.map(kind => [kind.name, row[column(kind)]]))),
                     kinds, unit, "rank"));
        ratioChart(section, "Communication hidden by computing", rows, "overlap_ratio", PARTS.transfer);
    },
    launch(section) {
        listChart(section, "Mean delay from a launch to its start", "launch", {
            name: row => row.call, value: "delay_mean_ns", color: only("delay", PARTS.launch) });
        const rows = rowsOf("launch"), kinds = [["short_kernels", COLORS[4]], ["slow_calls", COLORS[5]], ["late_kernels", COLORS[1]]];
        const parts = kinds.map(([name, color]) => entry(name.replace("_", " "), color));
        if (!rows.some(row => kinds.some(([name]) => row[name])))
            return;
        addChart(section, "Short kernels, slow calls and late kernels", [rankChoice(rows, "sum of all")], (host, width, rank) => {
            const items = [...groupBy(ofRank(rows, rank), row => row.call)].map(([name, of]) => ({
                name, parts: kinds.map(([column], i) => ({ ...parts[i], value: sum(of, row => row[column]) })) }))
                .filter(item => sum(item.parts, part => part.value));
            nameBars(host, width, items, plain);
            return { key: parts, columns: ["call", ...kinds.map(([name]) => name)],
                     rows: items.map(item => [item.name, ...item.parts.map(part => part.value)]) };
        });
    },
    copies(section) {
        listChart(section, "Copies and memsets", "copies", {
            name: row => row.name, value: "sum_ns", color: only("copy", PARTS.copy) });
    },
};

/* A ratio of each rank. */
function ratioChart(section, title, rows, column, color) {
    const known = rows.filter(row => row[column] !== null), name = namer(rows);
    if (!known.length)
        return;
    const look = entry(title, color);
    addChart(section, title, [], (host, width) => {
        const values = known.map(row => 100 * row[column]);
        if (known.length <= RANKS_AS_ROWS)
            nameBars(host, width, known.map((row, i) => ({ name: name(row), parts: [{ ...look, value: values[i] }] })), percent, 100);
        else
            columns(host, width, known.map(row => String(row.rank)), known.map(name), [look], [values], percent, "rank", 100);
        return { key: [], columns: ["rank", column], rows: known.map(row => [name(row), row[column]]) };
    });
}

/* kinds.js - the kinds of charts that several tables have: parts of each rank, lists, lines,
 * ratios, boxes. */

const LISTED = 15;        /* bars in a list */
const RANKS_AS_ROWS = 12; /* more ranks are drawn as columns */

/* Bars of parts for each rank. `rows` are {name, short, values}, with values by part. */
function rankBars(host, width, rows, parts, unit, label) {
    const used = parts.filter(part => rows.some(row => row.values[part.name]));
    const total = row => sum(used, part => row.values[part.name]) || 1;
    const value = (row, part) =>
        (row.values[part.name] ?? 0) * (unit === "percent" ? 100 / total(row) : 1);
    const format = unit === "percent" ? percent : span, most = unit === "percent" ? 100 : undefined;
    const bars = rows.map(row => (
        { name: row.name, parts: used.map(part => ({ ...part, value: value(row, part) })) }));
    if (rows.length <= RANKS_AS_ROWS)
        nameBars(host, width, bars, format, most);
    else
        columns(host, width, rows.map(row => row.short), rows.map(row => row.name), used,
            used.map(part => rows.map(row => value(row, part))), format, label, most);
    return {
        key: used,
        columns: [label, ...used.map(part => part.name)],
        rows: rows.map(row => [row.short, ...used.map(part => value(row, part))])
    };
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

/* The largest groups of a table: of one rank, or the mean over the ranks with the lowest and
 * highest. A rank without the group counts as 0, but not if `isRate`. The largest are those by
 * the column `by`. */
function listChart(section, title, table,
    { name, label = name => name, value, color, format = span, filter, by = value, isRate }) {
    const all = rowsOf(table).filter(row => row[value] !== null);
    if (!all.some(row => row[value] > 0))
        return;
    const ranks = rankChoice(all, "mean of all");
    const classes = filter && {
        label: filter.label,
        values: [["", "all"], ...distinct(all.map(r => r[filter.column])).map(c => [c, c])]
    };
    addChart(section, title, [ranks, classes], (host, width, rank, wanted) => {
        const rows = ofRank(all, rank).filter(row => !wanted || row[filter.column] === wanted);
        const count = rank === "all" ? distinct(all.map(r => r.rank)).length : 1;
        const items = [...groupBy(rows, name)]
                          .map(([full, of]) => {
                              const sums = [...groupBy(of, r => r.rank).values()].map(
                                  r => sum(r, row => row[value]) / (isRate ? r.length : 1));
                              const mean = sum(sums, v => v) / (isRate ? sums.length : count);
                              return {
                                  name: full,
                                  mean,
                                  low: sums.length < count && !isRate ? 0 : Math.min(...sums),
                                  high: Math.max(...sums),
                                  look: color(of[0]),
                                  order: by === value ? mean : sum(of, row => row[by])
                              };
                          })
                          .filter(item => item.mean > 0)
                          .sort((a, b) => b.order - a.order)
                          .slice(0, LISTED);
        const bars = items.map(item => ({
            name: label(item.name),
            full: item.name,
            parts: [{ ...item.look, value: item.mean }],
            ...(count > 1 ? { low: item.low, high: item.high } : {})
        }));
        if (items.length)
            nameBars(host, width, bars, format);
        else
            make("p", host, "Nothing of this kind.");
        const key = [...new Map(items.map(item => [item.look.name, item.look])).values()];
        return {
            key: key.length > 1 || filter ? key : [],
            columns: ["name", value, "lowest", "highest"],
            rows: items.map(item => [item.name, item.mean, item.low, item.high])
        };
    });
}

const placeOf = row => row.line ?? row.place ?? row.call ?? "?";
const only = (name, color) => () => entry(name, color);

/* One line for each name, over x. Of more than eight ranks, the median and the range of all. */
function seriesChart(section, title, rows, { x, y, name, format, xLabel, xFormat, marked }) {
    const usable = rows.filter(row => row[x] !== null && row[y] !== null);
    if (distinct(usable.map(row => row[x])).length < 2)
        return;
    addChart(section, title, [rankChoice(usable, "all")], (host, width, rank) => {
        const wanted = ofRank(usable, rank).slice().sort((a, b) => a[x] - b[x]),
              groups = [...groupBy(wanted, name)];
        const series = groups.length <= 8 ? groups.map(([label, of], i) => ({
            name: label,
            color: COLORS[i],
            x: of.map(row => row[x]),
            y: of.map(row => row[y])
        })) :
                                            rangeOf(wanted, x, y);
        const points = [...groupBy(wanted.filter(marked.isOf), row => row[x]).values()].map(
            of => of.reduce((a, b) => a[y] > b[y] ? a : b));
        if (points.length)
            series.push({
                name: marked.name,
                color: COLORS[5],
                isPoints: true,
                x: points.map(row => row[x]),
                y: points.map(row => row[y])
            });
        lines(host, width, series, format, xLabel, xFormat);
        return {
            key: series.map(s => entry(s.name, s.color)),
            columns: ["series", x, y],
            rows: series.flatMap(s => s.x.map((at, i) => [s.name, at, s.y[i]]))
        };
    });
}

function rangeOf(rows, x, y) {
    const at = [...groupBy(rows, row => row[x])].sort((a, b) => a[0] - b[0]);
    const sorted = at.map(([, of]) => of.map(row => row[y]).sort((a, b) => a - b));
    const line = (name, color, pick, extra) =>
        ({ name, color, x: at.map(a => a[0]), y: sorted.map(pick), ...extra });
    return [
        line("highest", COLORS[1], v => v.at(-1), { band: "#0072b233" }),
        line("lowest", COLORS[2], v => v[0]),
        line("median", COLORS[0], v => v[v.length >> 1], { width: 2.5 })
    ];
}

/* Values of a rank over time, which change in steps: of the series with the most changes. */
function timeChart(section, title, table, { name, y, format, color = COLORS }) {
    const all = rowsOf(table).filter(row => row[y] !== null);
    if (!all.some(row => row[y] > 0))
        return;
    addChart(section, title, [rankChoice(all)], (host, width, rank) => {
        const groups = [...groupBy(ofRank(all, rank), name)]
                           .sort((a, b) => b[1].length - a[1].length)
                           .slice(0, color.length);
        const series = groups.map(([label, of], i) => ({
            name: label,
            color: color[i],
            x: of.map(row => row.begin_ns),
            y: of.map(row => row[y]),
            isStepped: true
        }));
        lines(host, width, series, format, "time", span);
        return {
            key: series.map(s => entry(s.name, s.color)),
            columns: ["series", "begin_ns", y],
            rows:
                series.flatMap(s => s.x.map((at, i) => [s.name, report.begin + BigInt(at), s.y[i]]))
        };
    });
}

/* The spread of a value, for the columns PREFIXmin, p25, median, p75 and max of a table. */
function spreadChart(section, title, table, { name, format, suffix, order, color, isLog }) {
    const all = rowsOf(table).filter(row => row[`max_${suffix}`.replace(/_$/, "")] > 0);
    if (!all.length)
        return;
    const stats = ["min", "p25", "median", "p75", "max"],
          column = stat => suffix ? `${stat}_${suffix}` : stat;
    addChart(section, title, [rankChoice(all)], (host, width, rank) => {
        const items =
            ofRank(all, rank).sort((a, b) => b[order] - a[order]).slice(0, LISTED).map(row => ({
                name: name(row),
                color: color(row),
                ...Object.fromEntries(stats.map(stat => [stat, row[column(stat)]]))
            }));
        boxes(host, width, items, format, isLog);
        return {
            key: [],
            columns: ["name", ...stats.map(column)],
            rows: items.map(item => [item.name, ...stats.map(stat => item[stat])])
        };
    });
}

/* Stacked bars with names, for one rank or the mean of all. `parts` are entries with a column. */
function stackChart(section, title, table,
    { name, parts, format = span, change = row => row, all: label = "mean of all" }) {
    const all = rowsOf(table).map(change),
          used = parts.filter(part => all.some(row => row[part.column] > 0));
    if (!used.length)
        return;
    addChart(section, title, [rankChoice(all, label)], (host, width, rank) => {
        const rows = ofRank(all, rank),
              count = rank === "all" && label.startsWith("mean") ?
            distinct(all.map(r => r.rank)).length :
            1;
        const items =
            [...groupBy(rows, name)]
                .map(([itemName, of]) => ({
                    name: itemName,
                    parts: used.map(
                        part => ({ ...part, value: sum(of, row => row[part.column]) / count }))
                }))
                .filter(item => sum(item.parts, part => part.value))
                .sort((a, b) => sum(b.parts, part => part.value) - sum(a.parts, part => part.value))
                .slice(0, LISTED);
        nameBars(host, width, items, format);
        return {
            key: used,
            columns: ["name", ...used.map(part => part.column)],
            rows: items.map(item => [item.name, ...item.parts.map(part => part.value)])
        };
    });
}
const column = (name, text, color, isHatched) =>
    ({ ...entry(text, color, isHatched), column: name });

/* A ratio of each rank. */
function ratioChart(section, title, rows, column, color) {
    const known = rows.filter(row => row[column] !== null), name = namer(rows);
    if (!known.length)
        return;
    const look = entry(title, color);
    addChart(section, title, [], (host, width) => {
        const values = known.map(row => 100 * row[column]);
        const bars = known.map(
            (row, i) => ({ name: name(row), parts: [{ ...look, value: values[i] }] }));
        if (known.length <= RANKS_AS_ROWS)
            nameBars(host, width, bars, percent, 100);
        else
            columns(host, width, known.map(row => String(row.rank)), known.map(name), [look],
                [values], percent, "rank", 100);
        return {
            key: [],
            columns: ["rank", column],
            rows: known.map(row => [name(row), row[column]])
        };
    });
}

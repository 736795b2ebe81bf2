/* data.js - the report in the page, and how its values are shown. Every text of the report is
 * set as text, never as HTML. */

let report;

/* Reads the report: JSON, compressed, in base64 (struct sl_report_page in print.h). Times of the
 * file are counted from the first of them, because they are too large for JavaScript's numbers. */
async function readReport() {
    const text = document.getElementById("report").textContent;
    const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    report = JSON.parse(await new Response(stream).text());
    const times = [];
    for (const table of Object.values(report.metrics))
        table.columns.forEach((column, i) => {
            if (column.type === "string")
                table.values[i] = table.values[i].map(id => id === null ? null : report.names[id]);
            column.isTime = column.name.startsWith("begin_");
            if (column.isTime)
                times.push(table.values[i] = summed(table.values[i]));
        });
    for (const values of times)
        for (const time of values)
            if (time !== null && !(report.begin <= time))
                report.begin = time;
    for (const table of Object.values(report.metrics)) {
        const columns = table.columns.map((column, i) => !column.isTime ?
                table.values[i] :
                table.values[i].map(time => time === null ? null : Number(time - report.begin)));
        table.rows = columns[0].map((_, row) => columns.map(values => values[row]));
    }
}

/* Each value is the difference to the one before. */
function summed(values) {
    let sofar = 0n;
    return values.map(value => value === null ? null : sofar += BigInt(value));
}

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

/* ---- values as text ---- */

function scaled(value, units, none) {
    for (const [unit, size] of units)
        if (Math.abs(value) >= size) {
            const x = Math.abs(value) / size;
            return `${(value / size).toFixed(x >= 100 ? 1 : x >= 10 ? 2 : 3)} ${unit}`;
        }
    return `${Number.isInteger(value) ? value : value.toFixed(1)} ${none}`;
}

const span = ns => scaled(ns, [["s", 1e9], ["ms", 1e6], ["us", 1e3]], "ns");
const bytes = count => scaled(count, [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]], "B");
const percent = value => `${value.toFixed(value >= 99.95 ? 0 : 1)} %`;
const speed = value => `${plain(value)} GB/s`;
const plain = value => Number.isInteger(value) ?
    value.toLocaleString("en-US").replaceAll(",", "\u2009") :
    value.toPrecision(4).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

/* The same without digits that say nothing, for the marks of an axis. */
const mark = format => value =>
    value === 0 ? "0" : format(value).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");

/* A kernel's name without its result and its parameters, which say little and take much room. */
function kernelName(name) {
    let end = name.length, depth = 0;
    if (name.endsWith(")"))
        do
            depth += name[--end] === ")" ? 1 : name[end] === "(" ? -1 : 0;
        while (depth && end);
    return (end > 4 ? name.slice(0, end) : name).replace(/(^|: )void /, "$1");
}

/* A line of code without the folders of the file. */
const lineName = name => name.replace(/\/\S*\/(?=[^/\s]+:\d)/, "");

const isId = name =>
    /^(rank|device|step|stream|context|correlation|pid|tid|bin|node|graph)(_|$)/.test(name);

function shown(value, column) {
    if (value === null)
        return "\u2013";
    switch (column.unit) {
        case "ns":
            return span(value);
        case "bytes":
            return bytes(value);
        case "ratio":
            return `${(100 * value).toFixed(1)} %`;
        case "text":
            return value;
        default:
            return isId(column.name) ? String(value) : plain(value);
    }
}

/* Returns the value as the file has it. */
const exact = (value, column) =>
    column.isTime && value !== null ? String(report.begin + BigInt(value)) : value;

function csvOf(columns, rows) {
    const quoted = value => value === null || value === undefined ? "" :
        /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` :
                                         String(value);
    return [columns, ...rows].map(row => row.map(quoted).join(",") + "\r\n").join("");
}

function download(name, blob) {
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* ---- tables as objects ---- */

function rowsOf(name) {
    const table = report.metrics[name];
    return table ?
        table.rows.map(row => Object.fromEntries(table.columns.map((c, i) => [c.name, row[i]]))) :
        [];
}

function groupBy(rows, key) {
    const groups = new Map();
    for (const row of rows) {
        const name = key(row);
        if (!groups.has(name))
            groups.set(name, []);
        groups.get(name).push(row);
    }
    return groups;
}

const sum = (rows, value) => rows.reduce((all, row) => all + (value(row) ?? 0), 0);
const distinct = values => [...new Set(values)];

/* Returns a function that names the rank of a row, and its device if a rank uses several. */
function namer(rows) {
    const several = [...groupBy(rows, r => r.rank).values()].some(
        of => distinct(of.map(r => r.device)).length > 1);
    return row => {
        const rank = row.rank === null || row.rank === undefined ? "all" : `rank ${row.rank}`;
        return several && row.device !== null ? `${rank} GPU ${row.device}` : rank;
    };
}

/* Leaves out rows between the steps, if there are steps. */
function inSteps(rows) {
    return rows.some(r => r.step !== null) ? rows.filter(r => r.step !== null) : rows;
}

/* At most 2,000 points: of more, the lowest and the highest of each group stay. */
function thinned(x, y) {
    const most = 1000, size = Math.ceil(x.length / most);
    if (x.length <= 2 * most)
        return [x, y];
    const out = [[], []];
    for (let i = 0; i < x.length; i += size) {
        let low = i, high = i;
        for (let k = i; k < Math.min(i + size, x.length); k++) {
            if (y[k] < y[low])
                low = k;
            if (y[k] > y[high])
                high = k;
        }
        for (const k of low<high ? [low, high] : low>high ? [high, low] : [low]) {
            out[0].push(x[k]);
            out[1].push(y[k]);
        }
    }
    return out;
}

/* main.js - puts the page together: the losses, then each table with its charts, by question. */

const GROUPS = [
    ["Where the time went", ["parts", "steps", "ranks", "overlap", "busy"]],
    [
        "Why the GPUs were idle",
        ["idle", "waits", "streams", "launch", "launch_outliers", "delay", "queue", "queue_series"]
    ],
    [
        "What ran",
        [
            "kernels", "short_kernels", "annotations", "annotation_kernels", "sequences", "flops",
            "graphs"
        ]
    ],
    ["Memory", ["copies", "bandwidth", "bandwidth_series"]],
    ["Communication", ["collectives", "stragglers"]],
    ["Recording", ["cost", "scaled"]],
];

/* What the first screen calls the parts. */
const LOSSES = {
    "kernel-gaps": "Kernel gaps",
    transfer: "Transfer",
    waiting: "Waiting",
    copy: "Copy",
    sync: "Sync",
    cpu: "CPU late",
    loader: "Data loader",
    launch: "Launch",
    queued: "Queued",
    unknown: "Unknown",
};

function addOverview(section) {
    const rows = inSteps(rowsOf("parts")), parts = Object.keys(PARTS).map(partEntry);
    if (!rows.length)
        return;
    const bar = make("div", section, undefined, "overview"),
          total = sum(rows, row => row.step_ns) || 1;
    bar.setAttribute("aria-hidden", "true");
    for (const part of parts) {
        const share = 100 * sum(rows, row => row[`${part.name}_ns`]) / total;
        if (share < 0.5)
            continue;
        const piece = make("span", bar, undefined, part.isHatched ? "hatched" : "");
        piece.style.flexGrow = share;
        piece.style.backgroundColor = part.color;
        const label = make("b", piece, share >= 7 ? `${part.name} ${share.toFixed(0)} %` : "");
        label.style.color = inkOn(part.color);
        label.style.backgroundColor = part.color;
        piece.title = `${part.name} ${share.toFixed(1)} %`;
    }
}

function addFindings(main) {
    const section = make("section", main);
    make("h2", section, "The largest losses").id = "losses";
    if (!report.findings.length)
        make("p", section, "No loss takes 1 % of a step or more.");
    const list = make("ol", section, undefined, "findings");
    for (const finding of report.findings) {
        const item = make("li", list);
        item.style.setProperty("--part", PARTS[finding.part]);
        const share = make("div", item, undefined, "share");
        make("strong", share, percent(100 * finding.share_ratio));
        make("div", share, `${span(finding.per_step_ns)} a step`, "quiet");
        const text = make("div", item);
        make("div", text, LOSSES[finding.id] ?? LOSSES[finding.part] ?? finding.part, "loss");
        make("div", text, finding.text);
        if (finding.advice)
            make("div", text, finding.advice, "advice");
        make("div", text,
            `${finding.sure}, on ${finding.ranks} rank${finding.ranks === 1 ? "" : "s"}`, "quiet");
    }
    for (const note of report.notes ?? [])
        make("p", section, note, "quiet");
}

function addMetric(main, links, name) {
    const table = report.metrics[name];
    const section = make("section", main, undefined, "metric");
    const title = make("h3", section, table.title[0].toUpperCase() + table.title.slice(1));
    title.id = name;
    title.tabIndex = -1;
    make("a", make("li", links), name.replaceAll("_", " ")).href = `#${name}`;
    const about = make("details", section, undefined, "about");
    make("summary", about, "How it is counted");
    make("p", about, table.formula);
    CHARTS[name]?.(section);
    addTable(section, name, table);
    table.notes.forEach(note => make("p", section, note, "quiet"));
}

/* Names the tables without rows, and what they need. */
function addMissing(main, names) {
    if (!names.length)
        return;
    make("h2", main, "Not in this recording");
    const list = make("ul", make("section", main, undefined, "metric"));
    for (const name of names) {
        const item = make("li", list), table = report.metrics[name];
        item.id = name;
        make("strong", item, `${name}: `);
        item.append([table.title, ...table.notes].join(". "));
    }
}

function addPage() {
    const main = document.getElementById("main"), contents = document.getElementById("contents");
    document.getElementById("title").textContent = document.title;
    document.getElementById("head").textContent = report.head;
    document.getElementById("verdict").textContent = report.verdict.replaceAll(" %", "\u00a0%");
    addOverview(document.getElementById("summary"));
    make("a", contents, "The largest losses").href = "#losses";
    addFindings(main);
    const all = Object.keys(report.metrics),
          names = all.filter(name => report.metrics[name].rows.length),
          known = GROUPS.flatMap(([, group]) => group);
    const groups = [
        ...GROUPS.map(([title, group]) => [title, group.filter(name => names.includes(name))]),
        ["More tables", names.filter(name => !known.includes(name))]
    ];
    for (const [title, group] of groups) {
        if (!group.length)
            continue;
        make("h2", main, title);
        make("strong", contents, title);
        const links = make("ul", contents);
        group.forEach(name => addMetric(main, links, name));
    }
    addMissing(main, all.filter(name => !names.includes(name)));
}

function redrawAll() {
    readLook();
    charts.forEach(chart => chart.redraw());
}

readReport().then(
    () => {
        readLook();
        addPage();
        let width = innerWidth, timer;
        addEventListener("resize", () => {
            clearTimeout(timer);
            if (innerWidth !== width)
                timer = setTimeout(redrawAll, 150);
            width = innerWidth;
        });
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
        const print = isOn => {
            document.documentElement.toggleAttribute("data-print", isOn);
            redrawAll();
        };
        addEventListener("beforeprint", () => print(true));
        addEventListener("afterprint", () => print(false));
        document.documentElement.dataset.ready = "";
    },
    () => {
        document.getElementById("verdict").textContent =
            "This page cannot be shown: it needs a browser of 2023 or newer (DecompressionStream).";
    });

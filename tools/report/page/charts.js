/* charts.js - the charts of each table, by the table's name. A chart appears only if its table
 * has rows to draw; a table without an entry here is shown as a table alone. */

const CHARTS = {
    parts(section) {
        const all = rowsOf("parts"), rows = inSteps(all);
        const parts = Object.keys(PARTS).map(partEntry);
        const valuesOf = row =>
            Object.fromEntries(parts.map(part => [part.name, row[`${part.name}_ns`]]));
        if (!rows.length)
            return;
        addChart(section, "Where a step went", [UNITS],
            (host, width, unit) => rankBars(
                host, width, byRank(rows, valuesOf, of => of.length), parts, unit, "rank"));
        const name = namer(rows);
        if (distinct(rows.map(row => row.step)).length < 2)
            return;
        addChart(section, "Each step", [rankChoice(rows, "mean of all"), UNITS],
            (host, width, rank, unit) => {
                const steps = [...groupBy(ofRank(rows, rank), row => row.step)]
                                  .sort((a, b) => a[0] - b[0])
                                  .map(([step, of]) => ({
                                      name: `step ${step}`,
                                      short: String(step),
                                      values: Object.fromEntries(parts.map(
                                          part => [part.name,
                                              sum(of, row => row[`${part.name}_ns`]) / of.length]))
                                  }));
                const used = parts.filter(part => steps.some(step => step.values[part.name]));
                const total = step => sum(used, part => step.values[part.name]) || 1;
                const values = used.map(part => steps.map(step => step.values[part.name] *
                                                (unit === "percent" ? 100 / total(step) : 1)));
                columns(host, width, steps.map(s => s.short), steps.map(s => s.name), used, values,
                    unit === "percent" ? percent : span, "step",
                    unit === "percent" ? 100 : undefined);
                return {
                    key: used,
                    columns: ["step", ...used.map(part => part.name)],
                    rows: steps.map((step, i) => [step.short, ...values.map(of => of[i])])
                };
            });
    },
    idle(section) {
        const rows = rowsOf("idle");
        if (!rows.length)
            return;
        addChart(section, "Idle time by cause", [UNITS],
            (host, width, unit) =>
                rankBars(host, width, byRank(rows, row => ({ [row.cause]: row.per_step_ns })),
                    IDLE.map(partEntry), unit, "rank"));
        listChart(section, "Idle time by place, in a step", "idle", {
            name: row => `${row.cause}: ${placeOf(row)}`,
            label: lineName,
            value: "per_step_ns",
            color: row => partEntry(row.cause),
            filter: { label: "Cause", column: "cause" }
        });
    },
    waits(section) {
        listChart(section, "Waits by line of code, in a step", "waits", {
            name: row => `${row.line ?? row.place ?? "?"}: ${row.call}`,
            label: lineName,
            value: "per_step_ns",
            color: only("wait", PARTS.sync)
        });
    },
    steps(section) {
        const rows = rowsOf("steps").filter(row => row.step !== null);
        seriesChart(section, "Length of each step", rows, {
            x: "step",
            y: "step_ns",
            name: namer(rows),
            format: span,
            xLabel: "step",
            xFormat: String,
            marked: { name: "much longer than the median", isOf: row => row.is_long }
        });
    },
    kernels(section) {
        listChart(section, "Kernels and copies with the most time", "kernels", {
            name: row => row.name,
            label: kernelName,
            value: "sum_ns",
            color: row => entry(row.class, CLASSES[row.class] ?? COLORS[7]),
            filter: { label: "Class", column: "class" }
        });
    },
    overlap(section) {
        const rows = rowsOf("overlap");
        if (!rows.length)
            return;
        const temporal = [
            entry("compute", PARTS.compute), entry("other work", PARTS.copy),
            entry("idle", PARTS.launch, true)
        ];
        const temporalOf = byRank(rows, row => ({
            compute: row.compute_ns + row.compute_communication_ns + row.compute_copy_ns +
                row.all_ns,
            "other work": row.communication_ns + row.copy_ns + row.communication_copy_ns,
            idle: row.idle_ns,
        }));
        addChart(section, "Computing, other work and idle time", [UNITS],
            (host, width, unit) => rankBars(host, width, temporalOf, temporal, unit, "rank"));
        const kinds =
            [
                "compute", "compute and communication", "communication", "compute and copy",
                "communication and copy", "all", "copy", "idle"
            ].map((name, i) =>
                      name === "idle" ? entry(name, PARTS.launch, true) : entry(name, COLORS[i]));
        const column = kind => `${kind.name.replaceAll(" and ", "_")}_ns`;
        addChart(section, "Work that runs side by side", [UNITS],
            (host, width, unit) => rankBars(host, width,
                byRank(rows,
                    row => Object.fromEntries(kinds.map(kind => [kind.name, row[column(kind)]]))),
                kinds, unit, "rank"));
        ratioChart(
            section, "Communication hidden by computing", rows, "overlap_ratio", PARTS.transfer);
    },
    launch(section) {
        listChart(section, "Mean delay from a launch to its start", "launch", {
            name: row => row.call,
            value: "delay_mean_ns",
            isRate: true,
            color: only("delay", PARTS.launch)
        });
        stackChart(section, "Short kernels, slow calls and late kernels", "launch", {
            name: row => row.call,
            format: plain,
            all: "sum of all",
            parts: [
                column("short_kernels", "short kernels", COLORS[4]),
                column("slow_calls", "slow calls", COLORS[5]),
                column("late_kernels", "late kernels", COLORS[1])
            ]
        });
    },
    launch_outliers(section) {
        const all = rowsOf("launch_outliers");
        const kinds = [["slow call", "call_ns", COLORS[5]], ["late kernel", "delay_ns", COLORS[0]]];
        if (!all.length)
            return;
        addChart(section, "Slow calls and late kernels over time", [rankChoice(all, "all")],
            (host, width, rank) => {
                const rows = ofRank(all, rank).slice().sort((a, b) => a.begin_ns - b.begin_ns);
                const series =
                    kinds
                        .map(([kind, y, color]) =>
                                 ({ kind, of: rows.filter(row => row.kind === kind), y, color }))
                        .filter(({ of }) => of.length)
                        .map(({ kind, of, y, color }) => ({
                            name: kind,
                            color,
                            isPoints: true,
                            x: of.map(row => row.begin_ns),
                            y: of.map(row => row[y])
                        }));
                lines(host, width, series, span, "time", span);
                return {
                    key: series.map(s => entry(s.name, s.color)),
                    columns: ["kind", "begin_ns", "length_ns"],
                    rows: series.flatMap(
                        s => s.x.map((at, i) => [s.name, report.begin + BigInt(at), s.y[i]]))
                };
            });
    },
    streams(section) {
        const all = rowsOf("streams"), causeOf = row => row.cause ?? `${row.wait} wait`,
              causes = distinct(all.map(causeOf));
        const others = {
            "stream wait": PARTS.waiting,
            "kernel wait": "#b497d6",
            "other wait": "#8fb3a5"
        };
        const looks = Object.fromEntries(
            causes.map(cause => [cause,
                           others[cause] ? entry(cause, others[cause], true) : partEntry(cause)]));
        if (!all.some(row => row.idle_ns))
            return;
        addChart(section, "Idle time of each stream", [rankChoice(all, null), UNITS],
            (host, width, rank, unit) => {
                const rows = [...groupBy(ofRank(all, rank), row => `stream ${row.stream}`)].map(
                    ([name, of]) => ({
                        name,
                        short: name,
                        values: Object.fromEntries([...groupBy(of, causeOf)].map(
                            ([c, r]) => [c, sum(r, row => row.idle_ns)]))
                    }));
                return rankBars(host, width, rows.slice(0, RANKS_AS_ROWS),
                    causes.map(cause => looks[cause]), unit, "stream");
            });
        spreadChart(section, "Length of the idle intervals", "streams", {
            name: row => `stream ${row.stream}: ${causeOf(row)}`,
            format: span,
            suffix: "ns",
            order: "idle_ns",
            color: row => looks[causeOf(row)].color,
            isLog: true
        });
    },
    queue(section) {
        spreadChart(section, "Length of the queue", "queue", {
            name: row => `stream ${row.stream}`,
            format: plain,
            suffix: "",
            order: "changes",
            color: () => COLORS[0]
        });
        stackChart(section, "Time in which launches were blocked by a full queue", "queue", {
            name: row => `stream ${row.stream}`,
            parts: [column("blocked_ns", "blocked", COLORS[5])]
        });
    },
    queue_series(section) {
        timeChart(section, "Length of the queue over time", "queue_series",
            { name: row => `stream ${row.stream}`, y: "length", format: plain });
    },
    bandwidth(section) {
        spreadChart(section, "Bandwidth of copies and memsets", "bandwidth", {
            name: row => row.name,
            format: speed,
            suffix: "gb_per_s",
            order: "busy_ns",
            color: () => PARTS.copy,
            isLog: true
        });
    },
    bandwidth_series(section) {
        timeChart(section, "Bandwidth over time", "bandwidth_series",
            { name: row => row.name, y: "gb_per_s", format: speed });
    },
    annotations(section) {
        listChart(section, "GPU time of each range", "annotations",
            { name: row => row.annotation, value: "gpu_ns", color: only("range", COLORS[0]) });
    },
    annotation_kernels(section) {
        listChart(section, "Kernels of the ranges", "annotation_kernels", {
            name: row => row.annotation ? `${row.annotation}: ${row.name}` : row.name,
            label: kernelName,
            value: "sum_ns",
            color: only("kernel", COLORS[4])
        });
    },
    delay(section) {
        stackChart(section, "From an operator's begin to its kernel, mean", "delay", {
            name: row => row.operator,
            parts: [
                column("to_launch_mean_ns", "to the launch", PARTS.cpu, true),
                column("after_launch_mean_ns", "from the launch to the kernel", PARTS.launch, true)
            ]
        });
    },
    sequences(section) {
        listChart(section, "Frequent sequences of kernels", "sequences",
            { name: row => row.sequence, value: "gpu_ns", color: only("sequence", COLORS[0]) });
    },
    stragglers(section) {
        const rows = rowsOf("stragglers"), parts = [
            entry("the others waited for it", PARTS.waiting),
            entry("it waited for others", PARTS.loader, true)
        ];
        if (!rows.some(row => row.late_ns || row.waited_ns))
            return;
        const bars = rows.map(row => ({
            name: `rank ${row.rank}`,
            short: String(row.rank),
            values: { [parts[0].name]: row.late_ns, [parts[1].name]: row.waited_ns }
        }));
        addChart(section, "Who waited for whom", [],
            (host, width) => rankBars(host, width, bars, parts, "time", "rank"));
    },
    ranks(section) {
        const rows = rowsOf("ranks"), name = namer(rows);
        const looks = {
            launch: entry("launch-bound", PARTS.cpu, true),
            GPU: entry("GPU-bound", PARTS.compute)
        };
        const parts = [looks.GPU, looks.launch, entry("unknown", PARTS.unknown)];
        const lookOf = row => (looks[row.bound] ?? parts[2]).name;
        if (!rows.some(row => row.median_ns))
            return;
        const bars = rows.map(row => ({
            name: name(row),
            short: String(row.rank ?? ""),
            values: { [lookOf(row)]: row.median_ns }
        }));
        addChart(section, "Median step of each rank", [],
            (host, width) => rankBars(host, width, bars, parts, "time", "rank"));
        ratioChart(section, "Part of a step in which the GPU waits for launches", rows,
            "late_ratio", PARTS.cpu);
    },
    busy(section) {
        const all = rowsOf("busy"), name = namer(all);
        if (!all.length)
            return;
        const kinds = {
            label: "Work",
            values: [
                ["busy_ns", "all"], ["compute_ns", "compute"],
                ["communication_ns", "communication"], ["copy_ns", "copies"]
            ]
        };
        addChart(section, "How busy each GPU was over time", [kinds], (host, width, kind) => {
            const rows = [...groupBy(all, name)].map(([who, of]) => ({
                name: who,
                cells: of.map(row => ({
                    from: row.begin_ns,
                    to: row.begin_ns + row.length_ns,
                    value: row[kind] / (row.length_ns || 1),
                    text: `busy ${percent(100 * row[kind] / (row.length_ns || 1))}`
                }))
            }));
            return {
                key: strip(host, width, rows, "time", span),
                columns: ["rank", "begin_ns", "length_ns", kind],
                rows: all.map(row => [name(row), report.begin + BigInt(row.begin_ns), row.length_ns,
                                  row[kind]])
            };
        });
    },
    short_kernels(section) {
        const all = rowsOf("short_kernels"),
              parts = ["compute", "communication", "copy"].map(name => entry(name, CLASSES[name]));
        const units = { label: "Count", values: [["count", "kernels"], ["sum_ns", "their time"]] };
        if (!all.length)
            return;
        addChart(section, "Kernels by length", [rankChoice(all, "sum of all"), units],
            (host, width, rank, unit) => {
                const rows = ofRank(all, rank),
                      froms = distinct(rows.map(row => row.from_ns)).sort((a, b) => a - b);
                const used = parts.filter(part => rows.some(row => row.class === part.name));
                const below = from => rows.find(row => row.from_ns === from).below_ns;
                const values = used.map(
                    part => froms.map(
                        from => sum(rows.filter(r => r.from_ns === from && r.class === part.name),
                            r => r[unit])));
                columns(host, width, froms.map(mark(span)),
                    froms.map(from => `${span(from)} to ${
                                  below(from) === null ? "\u221e" : span(below(from))}`),
                    used, values, unit === "count" ? plain : span, "length of the kernel, from");
                return {
                    key: used,
                    columns: ["from_ns", ...used.map(part => part.name)],
                    rows: froms.map((from, i) => [from, ...values.map(of => of[i])])
                };
            });
    },
    graphs(section) {
        listChart(section, "Nodes of CUDA graphs", "graphs", {
            name: row => `graph ${row.graph}: ${row.name}`,
            label: kernelName,
            value: "sum_ns",
            color: row => entry(row.class, CLASSES[row.class] ?? COLORS[7])
        });
    },
    flops(section) {
        listChart(section, "Speed of the operators with the most time", "flops", {
            name: row => `${row.op} ${row.sizes}`,
            value: "tflop_per_s",
            isRate: true,
            by: "kernel_ns",
            format: value => `${plain(value)} TFLOP/s`,
            color: only("speed", COLORS[0])
        });
    },
    collectives(section) {
        const name = row =>
            `${row.type} ${row.input_bytes === null ? "" : bytes(row.input_bytes)} ${
                row.dtype ?? ""}, group ${row.group ?? "?"}`;
        stackChart(section, "Time of collectives", "collectives", {
            name,
            change: row => ({ ...row, unmatched_ns: row.matched ? 0 : row.sum_ns }),
            parts: [
                column("waiting_ns", "waiting for the last rank", PARTS.waiting),
                column("transfer_ns", "transfer", PARTS.transfer),
                column("unmatched_ns", "waiting and transfer", PARTS.copy)
            ]
        });
        listChart(section, "Bus bandwidth of collectives", "collectives", {
            name,
            value: "bus_gb_per_s",
            isRate: true,
            by: "sum_ns",
            format: speed,
            color: only("bandwidth", COLORS[2])
        });
    },
    cost(section) {
        listChart(section, "Cost of recording", "cost",
            { name: row => row.name, value: "sum_ns", color: only("cost", COLORS[7]) });
    },
    scaled(section) {
        listChart(section, "Parts of the whole run, scaled from the windows", "scaled",
            { name: row => row.part, value: "scaled_ns", color: row => partEntry(row.part) });
    },
    copies(section) {
        listChart(section, "Copies and memsets", "copies",
            { name: row => row.name, value: "sum_ns", color: only("copy", PARTS.copy) });
    },
};

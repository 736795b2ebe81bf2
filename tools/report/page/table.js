/* table.js - the tables: sorted by a click on a column, filtered, saved as CSV. They are the
 * accessible form of the charts. */

const ROWS_SHOWN = 100;

function addTable(section, name, table) {
    const box = make("details", section, undefined, "table");
    box.open = true;
    const count = make("span", make("summary", box, "Table "), "", "quiet");
    const tools = make("div", box, undefined, "tools");
    const filter = make("input", make("label", tools, "Filter "));
    filter.type = "search";
    const save = make("button", tools, "CSV");
    const more = make("button", tools, "Show all rows");
    const scroll = make("div", box, undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Table ${name}`);
    const element = make("table", scroll);
    make("caption", element, table.title);
    const head = make("tr", make("thead", element)), body = make("tbody", element);
    let sorted = -1, isDown = false, isAll = false;
    const wanted = () => {
        const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        const rows = words.length ? table.rows.filter(row => {
            const text = row.map((value, i) => `${value}\n${shown(value, table.columns[i])}`)
                             .join("\n")
                             .toLowerCase();
            return words.every(word => text.includes(word));
        }) :
                                    table.rows.slice();
        if (sorted >= 0)
            rows.sort((a, b) => {
                const [x, y] = [a[sorted], b[sorted]], sign = isDown ? -1 : 1;
                if (x === null || y === null)
                    return (x === null) - (y === null);
                return sign * (typeof x === "number" ? x - y : x.localeCompare(y));
            });
        return rows;
    };
    const fill = () => {
        const rows = wanted(), visible = isAll ? rows : rows.slice(0, ROWS_SHOWN);
        body.replaceChildren();
        for (const row of visible) {
            const line = make("tr", body);
            row.forEach((value, i) => {
                const column = table.columns[i];
                const cell =
                    make("td", line, shown(value, column), column.type === "string" ? "text" : "");
                if (column.type === "string" && value !== null)
                    cell.title = value.slice(0, 1000);
            });
        }
        count.textContent = visible.length < rows.length ?
            `${visible.length} of ${rows.length} rows` :
            rows.length < table.rows.length ? `${rows.length} of ${table.rows.length} rows` :
                                              `${rows.length} row${rows.length === 1 ? "" : "s"}`;
        more.hidden = visible.length === rows.length;
    };
    table.columns.forEach((column, i) => {
        const cell = make("th", head, undefined, column.type === "string" ? "text" : "");
        cell.scope = "col";
        const button = make(
            "button", cell, column.name.replace(/_(ns|bytes|ratio)$/, "").replaceAll("_", " "));
        button.title = column.isTime ? `${column.meaning}; shown from the first` : column.meaning;
        button.onclick = () => {
            isDown = sorted === i ? !isDown : column.type === "number" && !isId(column.name);
            sorted = i;
            head.querySelectorAll("th").forEach(th => th.removeAttribute("aria-sort"));
            cell.setAttribute("aria-sort", isDown ? "descending" : "ascending");
            fill();
        };
    });
    filter.oninput = fill;
    save.setAttribute("aria-label", `Save the table ${name} as CSV`);
    save.onclick = () => download(`${name}.csv`,
        new Blob([csvOf(table.columns.map(c => c.name),
                     wanted().map(row => row.map((value, i) => exact(value, table.columns[i]))))],
            { type: "text/csv" }));
    more.onclick = () => {
        isAll = true;
        fill();
    };
    fill();
    if (table.rows.length < table.total)
        make("p", section,
            `The page has ${table.rows.length} of ${table.total} rows of this table. ` +
                "--csv and --json have all.",
            "quiet");
}

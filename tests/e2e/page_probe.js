/* Uses a page of `syncline report --html` as a reader does, and returns what it finds. */
(async () => {
    const found = { tables: {}, saved: {}, faint: [], pictures: {} };
    const pause = () => new Promise(done => setTimeout(done, 20));
    while (!("ready" in document.documentElement.dataset))
        await pause();
    await pause(); /* uPlot draws in a microtask */

    /* ---- what a click saves ---- */
    const saving = [];
    let blob;
    URL.createObjectURL = from => { blob = from; return "blob:none"; };
    HTMLAnchorElement.prototype.click = function () {
        const name = this.download, of = blob;
        saving.push(of.type === "image/png"
            ? createImageBitmap(of).then(picture => { found.pictures[name] = [picture.width, picture.height, of.size]; })
            : of.text().then(text => { found.saved[name] = text; }));
    };
    const buttons = [...document.querySelectorAll("button")].filter(button => ["CSV", "PNG"].includes(button.textContent));
    buttons.forEach(button => button.click());
    while (saving.length < buttons.length)
        await pause();
    await Promise.all(saving);

    /* ---- tables: sorted, filtered ---- */
    for (const scroll of document.querySelectorAll(".scroll")) {
        const name = scroll.getAttribute("aria-label").replace("Table ", "");
        const box = scroll.closest(".table"), heads = [...scroll.querySelectorAll("th")];
        const column = i => [...scroll.querySelectorAll("tbody tr")].map(row => row.cells[i].title || row.cells[i].textContent);
        const last = heads.findLastIndex(head => head.className === "text");
        const table = { columns: heads.map(head => head.textContent), rows: column(0).length };
        if (last >= 0) {
            heads[last].querySelector("button").click();
            table.sorted = column(last);
            table.sort = heads[last].getAttribute("aria-sort");
            const input = box.querySelector("input");
            input.value = table.sorted[0].slice(0, 30);
            input.oninput();
            table.filtered = column(last);
            input.value = "";
            input.oninput();
        }
        found.tables[name] = table;
    }

    /* ---- every choice of a chart can be drawn ---- */
    found.charts = [...document.querySelectorAll("figure")].map(f => f.getAttribute("aria-label").match(/^Chart: (.*?)\. The table/)[1]);
    found.choices = 0;
    for (const select of document.querySelectorAll("figure select"))
        for (const option of [...select.options].slice(0, 4)) {
            select.value = option.value;
            select.onchange();
            found.choices++;
        }
    found.zooms = [];
    for (const host of document.querySelectorAll(".plot")) {
        if (!host.plot)
            continue;
        const spans = [];
        for (const key of ["", "+", "ArrowRight", "0"]) {
            host.plot.root.dispatchEvent(new KeyboardEvent("keydown", { key }));
            await pause();
            spans.push([host.plot.scales.x.min, host.plot.scales.x.max]);
        }
        found.zooms.push(spans);
    }

    /* ---- contrast of all text ---- */
    const light = text => {
        const parts = text.match(/[\d.]+/g).map(Number);
        const [r, g, b] = parts.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return { light: 0.2126 * r + 0.7152 * g + 0.0722 * b, alpha: parts[3] ?? 1 };
    };
    for (const element of document.querySelectorAll("body *")) {
        if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !element.checkVisibility())
            continue;
        let back = element;
        while (back && light(getComputedStyle(back).backgroundColor).alpha === 0)
            back = back.parentElement;
        const x = light(getComputedStyle(element).color).light, y = back ? light(getComputedStyle(back).backgroundColor).light : 1;
        const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
        if (ratio < 4.5)
            found.faint.push([element.tagName, element.className, element.textContent.slice(0, 40), ratio]);
    }

    /* ---- print ---- */
    const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    found.isDark = light(getComputedStyle(document.body).backgroundColor).light < 0.2;
    dispatchEvent(new Event("beforeprint"));
    await pause();
    found.print = { box: color("--box"), widths: [...document.querySelectorAll("figure canvas")].map(c => c.style.width || `${c.clientWidth}px`) };
    dispatchEvent(new Event("afterprint"));
    found.after = color("--box");
    return found;
})();

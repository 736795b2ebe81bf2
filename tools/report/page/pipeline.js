/* Zooms and moves the pictures of pipelines: each box has its times, in ns, and is placed again. */
const units = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
const namespace = "http://www.w3.org/2000/svg";

function spanText(ns) {
    const [size, unit] = units.find(([size]) => Math.abs(ns) >= size) || units[3];
    return `${+(ns / size).toPrecision(6)} ${unit}`;
}

function element(name, attributes, text) {
    const made = document.createElementNS(namespace, name);
    for (const [key, value] of Object.entries(attributes))
        made.setAttribute(key, value);
    if (text !== undefined)
        made.textContent = text;
    return made;
}

function follow(svg) {
    const left = +svg.dataset.left, width = +svg.dataset.width, length = +svg.dataset.length;
    const typical = svg.dataset.view.split(" ").map(Number), axis = svg.querySelector(".axis");
    const axisY = svg.viewBox.baseVal.height - 42;
    const boxes = [...svg.querySelectorAll("rect[data-b]")].map(rect => ({
        rect, from: +rect.dataset.b, to: +rect.dataset.e,
        text: rect.nextElementSibling && rect.nextElementSibling.tagName === "text" ? rect.nextElementSibling : null }));
    let [low, high] = typical;

    function putAxis() {
        let step = 1;
        while ((high - low) / step > 9)
            step *= (high - low) / step > 45 ? 10 : (high - low) / step > 18 ? 5 : 2;
        axis.replaceChildren();
        for (let n = Math.ceil((low - typical[0]) / step); typical[0] + n * step <= high; n++) {
            const x = left + width * (typical[0] + n * step - low) / (high - low);
            axis.append(element("path", { d: `M${x} ${axisY}v5`, stroke: "#8a9099" }),
                        element("text", { x, y: axisY + 18, "text-anchor": "middle" }, spanText(n * step)));
        }
    }

    function place() {
        const scale = width / (high - low);
        for (const box of boxes) {
            const x = (box.from - low) * scale, w = (box.to - box.from) * scale;
            const isSeen = x < width && x + w > 0;
            box.rect.parentNode.setAttribute("display", isSeen ? "inline" : "none");
            if (!isSeen)
                continue;
            /* Browsers draw coordinates of millions badly, so what is far outside is cut. */
            const begin = Math.max(x, -50), end = Math.min(x + w, width + 50);
            box.rect.setAttribute("x", left + begin);
            box.rect.setAttribute("width", Math.max(end - begin, .3));
            if (!box.text)
                continue;
            box.text.setAttribute("x", left + (Math.max(x, 0) + Math.min(x + w, width)) / 2);
            box.text.setAttribute("display", w >= 7 * box.text.textContent.length + 2 ? "inline" : "none");
        }
        putAxis();
    }

    function show(from, to) {
        const span = Math.min(Math.max(to - from, 100), length);
        low = Math.min(Math.max(from, 0), length - span);
        high = low + span;
        place();
    }

    const timeAt = event => {
        const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
        return low + ((event.clientX - box.left) * scale - left) / width * (high - low);
    };
    const zoom = (factor, at) => show(at - (at - low) * factor, at + (high - at) * factor);
    svg.addEventListener("wheel", event => {
        event.preventDefault();
        zoom(event.deltaY < 0 ? .8 : 1.25, Math.min(Math.max(timeAt(event), low), high));
    }, { passive: false });
    let grabbed = null;
    svg.addEventListener("pointerdown", event => {
        grabbed = timeAt(event);
        svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", event => {
        if (grabbed !== null) {
            const by = grabbed - timeAt(event);
            show(low + by, high + by);
        }
    });
    svg.addEventListener("pointerup", () => { grabbed = null; });
    svg.addEventListener("dblclick", () => show(...typical));
    svg.addEventListener("keydown", event => {
        const by = (high - low) / 5, middle = (low + high) / 2;
        const does = { "+": () => zoom(.8, middle), "-": () => zoom(1.25, middle),
                       ArrowLeft: () => show(low - by, high - by), ArrowRight: () => show(low + by, high + by) }[event.key];
        if (does) {
            event.preventDefault();
            does();
        }
    });
    const button = (text, does) => {
        const made = document.createElement("button");
        made.textContent = text;
        made.onclick = does;
        svg.before(made);
    };
    button("One iteration", () => show(...typical));
    button("All iterations", () => show(0, length));
    place();
}

for (const svg of document.querySelectorAll("svg.pipeline"))
    follow(svg);
document.documentElement.dataset.ready = "";

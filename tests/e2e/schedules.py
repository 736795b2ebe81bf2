"""Plays schedules of pipelines on a virtual clock, and writes the traces that their ranks would record. Times are in
ns. What a stage does is known exactly, so the bubble is too."""
import json

LAG = 40_000_000  # the CPU launches a phase this much before it runs
BASE = 1_700_000_000 * 10**9


def one_f_one_b(p, m):
    """Returns for each stage the order of (phase, micro-batch, chunk)."""
    def of(s):
        warm = min(p - s - 1, m)
        order = [("F", i, 0) for i in range(warm)]
        for i in range(m - warm):
            order += [("F", warm + i, 0), ("B", i, 0)]
        return order + [("B", i, 0) for i in range(m - warm, m)]
    return [of(s) for s in range(p)]


def interleaved(p, m, v):
    """Megatron's order with v chunks; m is a multiple of p."""
    def part(k, forward):
        chunk = k % (p * v) // p
        return ("F" if forward else "B", k // (p * v) * p + k % p, chunk if forward else v - 1 - chunk)

    def of(s):
        warm = min((p - s - 1) * 2 + (v - 1) * p, m * v)
        order = [part(k, True) for k in range(warm)]
        for k in range(m * v - warm):
            order += [part(warm + k, True), part(k, False)]
        return order + [part(k, False) for k in range(m * v - warm, m * v)]
    return [of(s) for s in range(p)]


def zb_h1(p, m):
    """1F1B with the W of a micro-batch put off, as many as the stage has behind it."""
    orders = []
    for s, order in enumerate(one_f_one_b(p, m)):
        out, waiting = [], []
        for at in order:
            out.append(at)
            if at[0] == "B":
                waiting.append(("W", at[1], 0))
                if len(waiting) > s:
                    out.append(waiting.pop(0))
        orders.append(out + waiting)
    return orders


class Pipeline:
    """Plays `orders` for some iterations. `lengths`: ns of F, B, W, O (the optimizer)."""

    def __init__(self, orders, lengths, *, chunks=1, iterations=3, transfer=20_000, jitter=lambda: 0):
        self.orders, self.lengths, self.chunks, self.transfer = orders, lengths, chunks, transfer
        self.p, self.iterations, self.jitter = len(orders), iterations, jitter
        self.phases = [[] for _ in orders]     # of each stage: (iteration, phase, micro-batch, chunk, begin, end)
        self.messages = [[] for _ in orders]   # (iteration, name, micro-batch, chunk, begin, end, index of the phase after)
        self.play()

    def neighbour(self, s, chunk, step):
        place = chunk * self.p + s + step
        return (place % self.p, place // self.p) if 0 <= place < self.chunks * self.p else None

    def need(self, s, phase, mb, chunk):
        if phase == "F":
            return self.neighbour(s, chunk, -1), "FORWARD"
        return (self.neighbour(s, chunk, 1), "BACKWARD") if phase == "B" else (None, None)

    def play(self):
        done, free, at = {}, [100_000_000] * self.p, [0] * self.p
        todo = [[(i, *part) for i in range(self.iterations) for part in [*order, ("O", -1, 0)]] for order in self.orders]
        while any(at[s] < len(todo[s]) for s in range(self.p)):
            moved = False
            for s in range(self.p):
                while at[s] < len(todo[s]):
                    i, phase, mb, chunk = todo[s][at[s]]
                    need, way = self.need(s, phase, mb, chunk)
                    if need and (i, phase, mb, need[1], need[0]) not in done:
                        break
                    begin = free[s]
                    if need:
                        sent = done[i, phase, mb, need[1], need[0]]
                        begin = max(begin, sent + self.transfer)
                        if need[0] != s:
                            self.messages[s].append((i, f"RECV_{way}", mb, chunk, min(free[s], sent),
                                                     sent + self.transfer, at[s]))
                    free[s] = begin + self.lengths[phase] + self.jitter()
                    self.phases[s].append((i, phase, mb, chunk, begin, free[s]))
                    done[i, phase, mb, chunk, s] = free[s]
                    other = phase in "FB" and self.neighbour(s, chunk, 1 if phase == "F" else -1)
                    if other and other[0] != s:
                        self.messages[s].append((i, "SEND_FORWARD" if phase == "F" else "SEND_BACKWARD", mb, chunk,
                                                 free[s], free[s] + self.transfer, at[s] + 1))
                    at[s] += 1
                    moved = True
            assert moved, "the schedule cannot go on"

    def ends(self):
        """Returns the end of each iteration over all stages."""
        return [max(end for phases in self.phases for i, _, _, _, _, end in phases if i == k) for k in range(self.iterations)]

    def bubble(self, first=1, last=None):
        """Returns the bubble of each stage in the iterations after the first, and of all."""
        ends = self.ends()
        begin, end = ends[first - 1], ends[last if last is not None else self.iterations - 1]
        busy = [sum(max(0, min(e, end) - max(b, begin)) for _, _, _, _, b, e in phases) for phases in self.phases]
        rates = [1 - b / (end - begin) for b in busy]
        return rates, sum(rates) / self.p


def rows_of(pipeline, s, *, name=None, is_kept=lambda phase: True, messages=True, described=None):
    """Returns the rows of a stage. `name` renames ranges. `described`: the ranks of the stages, if messages have the
    args of PyTorch instead of ranges."""
    name = name or (lambda phase, mb, chunk, i: "Optimizer" if phase == "O" else f"{phase}{mb}.{chunk}.{i}")
    rows, calls = [], iter(range(1, 10**7))

    def put_range(text, begin, end):
        rows.append({"ph": "X", "cat": "user_annotation", "name": text, "pid": 1, "tid": 1, "ts": begin / 1000,
                     "dur": (end - begin) / 1000, "args": {}})

    def put_kernel(text, launched, begin, end, stream, **args):
        n = next(calls)
        rows.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                     "ts": launched / 1000, "dur": 1, "args": {"correlation": n, "cbid": 211}})
        rows.append({"ph": "X", "cat": "kernel", "name": text, "pid": 0, "tid": stream, "ts": begin / 1000,
                     "dur": (end - begin) / 1000, "args": {"correlation": n, "device": 0, "stream": stream, "context": 1, **args}})

    phases = pipeline.phases[s]
    for i, phase, mb, chunk, begin, end in phases:
        if not is_kept((i, phase, mb, chunk)):
            continue
        at, length = begin - LAG, end - begin
        put_range(name(phase, mb, chunk, i), at, at + int(.6 * length))
        put_kernel(f"gemm_{phase}", at + 1000, begin, begin + length // 2, 7)
        put_kernel(f"norm_{phase}", at + 3000, begin + length // 2, end, 7)
    for i, way, mb, chunk, begin, end, after in pipeline.messages[s] if messages else []:
        if not is_kept((i, way, mb, chunk)):
            continue
        # The range lies in the last part of the time of the phase before.
        before = phases[after - 1] if after else (0, "", 0, 0, phases[0][4] - 40_000, phases[0][4])
        at, length = before[4] - LAG, before[5] - before[4]
        place = at + int((.65 if way.startswith("SEND") else .82) * length)
        args, is_send = {}, way.startswith("SEND")
        if described:
            to = (s + (1 if way in ("SEND_FORWARD", "RECV_BACKWARD") else -1)) % pipeline.p
            source, target = (s, to) if is_send else (to, s)
            args = {"Collective name": "send" if is_send else "recv", "In msg nelems": 64, "Out msg nelems": 64,
                    "Group size": len(described), "dtype": "Float", "Process Group Name": "pp",
                    "Process Group Description": "pp", "Process Group Ranks": str(described),
                    "Src Rank": described[source], "Dst Rank": described[target]}
        else:
            put_range(f"{way}.{mb}.{chunk}.{i}", place, place + int(.1 * length))
        put_kernel("ncclDevKernel_SendRecv", place + 200, begin, end, 20 if is_send else 21, **args)
    return rows


def write(path, rows, *, rank, world, host="", offset=0, drift=0, **header):
    """Writes a trace whose clock is wrong by `offset` ns, and by `drift` ns in each ns."""
    moved = [{**row, "ts": round(row["ts"] * (1 + drift), 3), "dur": round(row["dur"] * (1 + drift), 3)} for row in rows]
    if host:
        header["host_name"] = host
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": BASE + offset, "traceEvents": moved,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, **header}))
    return path

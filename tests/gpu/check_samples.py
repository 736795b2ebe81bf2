"""Runs the samples with and without syncline. The samples behave the same with and without
syncline, and the traces have the programs' operations."""

import collections

import kineto_trace as invariants
from suite import Skip

MIB = 1 << 20

# What the source of a sample says about a kernel: number of launches, x dimension of grid and
# block.
Kernel = collections.namedtuple("Kernel", "count grid block")


def train_like(steps=30, layers=6):
    every = steps * layers
    return {
        "command": ["train_like", "--steps", str(steps), "--layers", str(layers)],
        "kernels": {
            "embedding_spin_ns": Kernel(steps, 64, 256),
            "layer_norm_spin_ns": Kernel(every, 32, 128),
            "flash_attention_spin_ns": Kernel(every, 96, 128),
            "gemm_128x128_spin_ns": Kernel(every, 128, 256),
            "cross_entropy_spin_ns": Kernel(steps, 16, 1024),
            "gemm_128x128_backward_spin_ns": Kernel(every, 128, 256),
            "flash_attention_backward_spin_ns": Kernel(every, 96, 128),
            "adamw_spin_ns": Kernel(steps, 256, 512),
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL_spin_ns": Kernel(every, 8, 512),
        },
        "copies": {"HtoD": [2 * MIB] * steps, "DtoH": [4] * steps},
        "memsets": [4] * steps + [8 * MIB] * steps,
        "syncs": {"Stream Sync": steps + 1, "Event Sync": steps - 2, "Context Sync": 1,
                  "Stream Wait Event": steps - 2 + steps + every + steps},
    }


SAMPLES = {
    "streams_and_waits": {
        "command": ["streams_and_waits"],
        "kernels": {"producer_spin_ns": Kernel(12, 8, 128), "consumer_spin_ns": Kernel(3, 16, 256),
                    "background_spin_ns": Kernel(2, 4, 64)},
        "copies": {"HtoD": [4 * MIB] * 2, "DtoH": [4 * MIB] * 3},
        "memsets": [2 * MIB],
        "syncs": {"Context Sync": 1, "Stream Wait Event": 1},
    },
    "graph": {
        "command": ["graph"],
        "kernels": {"attention_spin_ns": Kernel(4, 32, 128), "mlp_spin_ns": Kernel(4, 16, 256),
                    "join_spin_ns": Kernel(4, 8, 64)},
        "copies": {"HtoD": [MIB] * 4, "DtoH": [MIB] * 4},
        "memsets": [MIB // 2] * 4,
        "syncs": {"Stream Sync": 2},
    },
    "two_threads": {
        "command": ["two_threads"],
        "kernels": {"producer_spin_ns": Kernel(20, 8, 128), "consumer_spin_ns": Kernel(20, 16, 64)},
        "copies": {}, "memsets": [],
        "syncs": {"Stream Sync": 21, "Stream Wait Event": 20},
    },
    "runtime_api": {
        "command": ["runtime_api"],
        "kernels": {
            "void layers::linear_spin_ns<float, 128>(unsigned long long)": Kernel(5, 32, 128),
            "void layers::linear_spin_ns<double, 64>(unsigned long long)": Kernel(5, 16, 64),
            "reduce_spin_ns(unsigned long long)": Kernel(6, 8, 256),
        },
        "copies": {"DtoH": [MIB] * 5}, "memsets": [MIB] * 5,
        "syncs": {"Stream Sync": 5, "Context Sync": 1, "Stream Wait Event": 5},
    },
    "train_like": train_like(),
}


def same_result(bare, watched):
    assert watched.status == bare.status, f"status {watched.status}, bare {bare.status}; " \
                                          f"stderr: {watched.stderr[-500:]}"
    assert watched.stdout == bare.stdout, f"stdout {watched.stdout!r}, bare {bare.stdout!r}"
    assert bare.status == 0, f"the bare run fails too: {bare.stderr[-500:]}"


def kernels_as_launched(trace, expected):
    counts = trace.kernel_counts()
    assert counts == {name: k.count for name, k in expected.items()}, f"kernels: {dict(counts)}"
    for event in trace.kernels:
        want = expected[event["name"]]
        grid, block = event["args"]["grid"], event["args"]["block"]
        assert grid == [want.grid, 1, 1] and block == [want.block, 1, 1], \
            f"{event['name']}: grid {grid}, block {block}, launched with {want.grid}, {want.block}"
    return f"{len(trace.kernels)} kernels of {len(expected)} names"


def copies_as_asked(trace, copies, memsets):
    seen = collections.defaultdict(list)
    for event in trace.copies:
        seen[event["name"].split()[1]].append(event["args"]["bytes"])
    for direction in sorted(set(seen) | set(copies)):
        # A driver may split a copy of pageable memory into several operations, so the sum of bytes
        # is compared.
        got, want = sorted(seen.get(direction, [])), sorted(copies.get(direction, []))
        assert sum(got) == sum(want), f"{direction}: {got} bytes, asked for {want}"
    got = sorted(e["args"]["bytes"] for e in trace.memsets)
    assert got == sorted(memsets), f"memsets: {got} bytes, asked for {sorted(memsets)}"
    return f"{len(trace.copies)} copies, {len(trace.memsets)} memsets"


def waits_are_there(trace, expected):
    seen = trace.sync_counts()
    wrong = {name: (seen[name], count) for name, count in expected.items() if seen[name] != count}
    assert not wrong, f"(seen, expected): {wrong}; all: {dict(seen)}"
    return ", ".join(f"{count} {name}" for name, count in sorted(seen.items()))


def check_sample(suite, machine, name, facts):
    try:
        command = [machine.program(facts["command"][0]), *facts["command"][1:]]
    except Skip as reason:
        suite.check(f"{name}", _skip, str(reason))
        return
    bare, watched = machine.run(command), machine.record(command)
    suite.check(f"{name}: same status and output as bare", same_result, bare, watched)
    traces = []
    suite.check(f"{name}: one complete trace", lambda: traces.extend(machine.traces(watched)))
    if not traces:
        return
    trace = traces[0]
    for invariant in invariants.INVARIANTS:
        suite.check(f"{name}: {invariant.__name__.replace('_', ' ')}", invariant, trace)
    suite.check(f"{name}: kernels as launched", kernels_as_launched, trace, facts["kernels"])
    suite.check(f"{name}: copies as asked", copies_as_asked, trace, facts["copies"],
                facts["memsets"])
    suite.check(f"{name}: waits are there", waits_are_there, trace, facts["syncs"])


def _skip(reason):
    raise Skip(reason)


def check_peer_copy(machine):
    command = [machine.program("peer_copy")]
    bare, watched = machine.run(command), machine.record(command)
    same_result(bare, watched)
    if "nothing to do" in bare.stdout:
        # The program called cuInit() and created no context, so no file may exist.
        left = watched.files()
        assert not left, f"a process without a context left {left}"
        return "one device: no context, and no file"
    trace = machine.traces(watched)[0]
    for invariant in invariants.INVARIANTS:
        invariant(trace)
    peer = [e for e in trace.copies if e["args"]["bytes"] == 8 * MIB and "fromDevice" in e["args"]]
    assert len(peer) == 1, f"peer copies: {trace.copies}"
    devices = (peer[0]["args"]["fromDevice"], peer[0]["args"]["toDevice"])
    assert devices == (0, 1), f"from, to: {devices}"
    return peer[0]["name"]


def check_all(suite, machine):
    suite.begin("Samples")
    for name, facts in SAMPLES.items():
        check_sample(suite, machine, name, facts)
    suite.check("peer_copy", check_peer_copy, machine)

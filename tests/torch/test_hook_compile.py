"""torch.compile traces the same graphs with and without syncline, and the trace shows the compiled graphs."""
import collections

import harness
import pytest
from test_jobs import check_passes
from tiers import full_but


@pytest.mark.parametrize("modules", full_but(["0"], ["0", "1"], seconds=11))
def test_compiled_as_without(torch, modules):
    """Dynamo counts the same graph breaks, graphs and calls with and without syncline, both with
    hooks after optimizer steps and with hooks around modules."""
    bare = torch.job("compiled", inject=False)
    run = torch.job("compiled", modules=modules, log="warn")
    assert (run.status, run.stdout, run.said()) == (0, bare.stdout, []), run.stderr


# Calls functions of the package inside compiled code.
OFFERED = """
import syncline, torch
graphs = []
def backend(module, inputs):
    graphs[-1].append(sum(node.op == "call_function" for node in module.graph.nodes))
    return module.forward
@syncline.range("decorated")
def doubled(a):
    return a * 2
def with_range(a):
    with syncline.range("within"):
        a = a * 2
    return a + 1
def with_others(a):
    syncline.step()
    a = doubled(a)
    syncline.mark("in the middle")
    return a + 1
for function in (with_range, with_others):
    for full in (False, True):
        torch._dynamo.reset()
        graphs.append([])
        torch.compile(function, backend=backend, fullgraph=full)(torch.ones(2, device="cuda"))
doubled(torch.ones(2))
print(graphs)
"""


@pytest.mark.parametrize("inject", full_but([True], [False, True], seconds=5),
                         ids=["bare", "recorded"])
def test_calls_of_the_package_break_no_graph(torch, inject):
    """Compiled code calls functions of the package, with and without the library. These calls break no graph,
    and no graph contains them."""
    run = torch.run(torch.python, "-c", OFFERED, inject=inject,
                    PYTHONPATH=str(harness.REPO / "python_hook"))
    assert (run.status, run.stdout) == (0, "[[2], [2], [2], [2]]\n"), run.stderr


GRAPH = "## Call CompiledFxGraph "
# Compiles a graph for which inductor generates no code: a custom operator on the GPU and a product. Runs it
# alone, under torch.profiler, inside traced code, and in a call that fails. Prints Dynamo's counters.
INDUCTOR = """
import gc
import os
import tempfile

folder = tempfile.TemporaryDirectory()
os.environ.update(TORCHINDUCTOR_CACHE_DIR=folder.name, TORCHINDUCTOR_COMPILE_THREADS="1")

import torch
@torch.library.custom_op("jobs::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    a = x.cuda()
    return (a @ a.t()).cpu()
@square.register_fake
def _(x):
    return x.new_empty(x.shape[0], x.shape[0])
def main():
    torch.cuda.init()
    x = torch.ones(8, 8)
    compiled = torch.compile(lambda x: square(x @ x), fullgraph=True)
    for _ in range(3):
        with torch.profiler.record_function("alone"):
            compiled(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        with torch.profiler.record_function("profiled"):
            compiled(x)
    (graph,) = (each for each in gc.get_objects() if type(each).__name__ == "CompiledFxGraph")
    around = torch.compile(lambda x: graph([x + 1])[0] * 2, backend="eager")
    with torch.profiler.record_function("traced"):
        around(x)
    with torch.profiler.record_function("failing"):
        try:
            graph(None)
        except TypeError as error:
            print(error)
    torch.cuda.synchronize()
    counters = torch._dynamo.utils.counters
    print(dict(counters["frames"]), dict(counters["stats"]), counters["graph_break"].total())
main()
"""


def check_gpu(trace, row: dict) -> None:
    """Checks that the row's name also appears on the GPU, around the operations launched during the row."""
    launched = {e["args"]["correlation"] for e in trace.of("cuda_runtime", "cuda_driver")
                if row["start"] <= e["start"] and e["end"] <= row["end"]}
    done = [e for e in trace.of("kernel", "gpu_memcpy", "gpu_memset")
            if e["args"]["correlation"] in launched]
    assert any(e["cat"] == "kernel" for e in done)
    assert (row["name"], min(e["start"] for e in done), max(e["end"] for e in done)) in \
        {(e["name"], e["start"], e["end"]) for e in trace.of("gpu_user_annotation")}


@pytest.mark.full(seconds=18)
def test_graphs_of_inductor(torch):
    """Each call of a compiled graph has one row with PyTorch's name for the graph, with and without
    PyTorch's profiler. torch.compile does not trace syncline's function that makes this row."""
    job = torch.tmp / "job.py"
    job.write_text(INDUCTOR)
    bare = torch.run(torch.python, job, inject=False, timeout=300)
    run = torch.run(torch.python, job, log="warn", timeout=300)
    assert (run.status, run.stdout, run.said()) == (0, bare.stdout, []), run.stderr
    trace = run.trace()
    check_passes(trace.path)
    found = collections.defaultdict(list)
    for part in trace.of("user_annotation"):
        if part["name"] in ("alone", "profiled", "traced", "failing"):
            found[part["name"]].append([
                e for e in trace.of("user_annotation", "cpu_op") if e["name"].startswith(GRAPH)
                and part["start"] <= e["start"] and e["end"] <= part["end"]])
    # While PyTorch's profiler runs, PyTorch also makes such a row, except in old versions.
    assert {name: [len(rows) for rows in parts] for name, parts in found.items()} == {
        "alone": [1, 1, 1], "profiled": [int(torch.minor >= 8)], "traced": [1], "failing": [1]}
    assert len({e["name"] for parts in found.values() for rows in parts for e in rows}) == 1
    for (row,) in found["alone"] + found["traced"]:
        assert " None " not in row["name"]
        check_gpu(trace, row)


@pytest.mark.full(seconds=4.1)
def test_inductor_that_is_there_before_the_library(torch):
    """Under `syncline run`, a program imports all of PyTorch before it uses CUDA."""
    if torch.minor < 6:
        pytest.skip("this PyTorch has CompiledFxGraph in another module")
    job = torch.tmp / "job.py"
    job.write_text("""
import torch
import torch._inductor.debug
from torch._inductor.output_code import CompiledFxGraph
torch.cuda.init()
graph = object.__new__(CompiledFxGraph)
graph.current_callable = lambda inputs: inputs[0].cuda() + 1
graph._fx_graph_cache_key, graph.compiled_fn_runner = "key", None
print(graph([torch.ones(3)]).shape)
""")
    run = torch.run(harness.TOOL, "run", "--", torch.python, job, inject=False, log="warn")
    assert (run.status, run.stdout, run.said()) == (0, "torch.Size([3])\n", []), run.stderr
    trace = run.trace()
    (row,) = [row for row in trace.of("user_annotation") if row["name"] == f"{GRAPH}key ##"]
    check_gpu(trace, row)

"""Tests the causes and remedies that `syncline report` names: that they are true, and that they fit."""
import json

import pytest

from edges_tool import launch, operation, row, write
from test_report import cpu_op, nccl, rank_trace, report, step, table
from test_report_numbers import many_ranks, screen, wait_at


def finding(found: dict, name: str) -> dict:
    (one,) = [each for each in found["findings"] if each["id"] == name]
    return one


def test_the_late_rank_is_that_for_which_the_chosen_rank_waits(tmp_path):
    """All wait for rank 17, and rank 17 for none."""
    many_ranks(tmp_path, 20)
    paths = sorted(tmp_path.iterdir())
    assert "rank-late" not in {each["id"] for each in report("--rank", "17", *paths)["findings"]}
    late = finding(report("--rank", "3", *paths), "rank-late")
    assert "100 % of it is waiting for rank 17" in late["text"]
    assert late["advice"] == "see what holds rank 17 up: --rank 17"


def test_a_rank_that_others_wait_for_waits_for_another(tmp_path):
    """Rank 1 waits for rank 0 in step 1, and rank 0 longer for rank 1 in step 2."""
    args = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
    for rank, (first, second) in enumerate([(80, 120), (50, 190)]):
        rows = [step(1, 0, 99), *launch(1, 2, 5, 10), *nccl(2, 15, first, 100, **args),
                step(2, 100, 99), *launch(3, 102, 105, 110), *nccl(4, 111, second, 200, **args)]
        (tmp_path / f"{rank}.json").write_text(json.dumps({
            "baseTimeNanoseconds": 10**18, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": rows}))
    paths = sorted(tmp_path.iterdir())
    for chosen, expected in [(["--rank", "1"], "rank 0"), (["--rank", "0"], "rank 1"), ([], "rank 1"),
                             (["--steps", "1"], "rank 0")]:
        assert f"waiting for {expected}" in finding(report(*chosen, *paths), "rank-late")["text"]


def graph_step(number, ts):
    """A step with one launch of a graph of 5 kernels, 10 us each and 20 us apart. In the first there is no gap
    before it."""
    call, _ = launch(number, ts + 50, 0, 0)
    return [step(number, ts, 300), {**call, "name": "cudaGraphLaunch", "args": {**call["args"], "cbid": 311}}, *(
        row("kernel", f"k{n}", number, ts + 60 + 30 * n, 10, 7, device=0, context=1, stream=7,
            **{"graph id": 4, "graph node id": n + 1}) for n in range(5))]


def test_gaps_between_queued_kernels_are_not_late_launches(tmp_path):
    """The CPU launches a kernel every 2 us, and the GPU runs one every 6 us: 59 of 5 us, 1 us apart."""
    rows = [step(1, 0, 400)] + [each for n in range(59) for each in launch(n + 1, 2.5 * n, 5 + 6 * n, 10 + 6 * n)]
    path = write(tmp_path / "t.json", rows)
    found = report(path)
    (gaps,) = found["findings"]
    assert (gaps["id"], gaps["part"], gaps["per_step_ns"], gaps["sure"]) == ("kernel-gaps", "launch", 58000, "measured")
    assert gaps["text"].startswith("58 gaps a step between queued kernels, of 1.00 us on the mean: the launches came in")
    assert "CUDA graphs" in gaps["advice"]
    (parts,), (steps,) = table(found, "parts"), table(found, "steps")
    assert (parts["launch_ns"], parts["between_ns"]) == (58000, 58000)
    assert (steps["bound"], steps["late_ns"]) == ("GPU", 0)
    _, text = screen(path)
    assert "Held up by gaps between kernels: the GPUs compute 84 % of a step; kernel gaps 16 %." in text
    assert "launches come in time, but gaps between queued kernels cost 16 % of the time" in text


def test_the_cpu_is_late_inside_a_call(tmp_path):
    """In each step the thread is in a copy of pageable memory for 500 us, and then for 5 us in no call. Of the copy
    the driver's call is recorded too."""
    rows = []
    for n in range(3):
        at, copy = 1000 * n, 10 * n + 2
        rows += [step(n, at, 990), *launch(copy - 1, at, at + 5, at + 20),
                 row("cuda_runtime", "cudaMemcpyAsync", copy, at + 10, 510, 42, cbid=41),
                 row("cuda_driver", "cuMemcpyHtoDAsync", copy + 2, at + 12, 506, 42, cbid=279),
                 operation("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", copy, at + 15, at + 20),
                 *launch(copy + 1, at + 525, at + 530, at + 990)]
    late = finding(report(write(tmp_path / "t.json", rows)), "cpu-late")
    assert late["text"] == "inside cudaMemcpyAsync the CPU makes no launch for 500 us, 1.0 times a step"
    assert "pin_memory=True" in late["advice"] and late["where"]["call"] == "cudaMemcpyAsync"
    rows += [each for n in range(3) for each in wait_at(100 + n, 1000 * n + 540, 5, "/a/train.py:9 main")]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": rows, "syncline": {"version": "0.1.0"}}))
    late = finding(report(path), "cpu-late")
    assert late["where"]["line"] == 9 and "inside cudaMemcpyAsync (near train.py:9 main)" in late["text"]


@pytest.mark.parametrize("slow, has_steps, expected", [
    ({0}, True, "leave the first steps out (--steps)"), ({0}, False, "record after the first iterations"),
    (range(8), True, "the driver holds the launch up")])
def test_long_launches(tmp_path, slow, has_steps, expected):
    """A launch of 3 ms loads a module if it is rare. Without steps there are none to leave out."""
    rows = []
    for n in range(8):
        at, dur = 5000 * n, 3000 if n in slow else 2
        call, kernel = launch(n + 1, at + 5, at + dur + 10, at + dur + 1000)
        rows += [{**call, "dur": dur}, kernel, *([step(n, at, 4900)] if has_steps else [])]
    first = launch(100, -20, -10, -5)  # so that the first gap begins before the first launch
    found = report(write(tmp_path / "t.json", [{**r, "ts": r["ts"] + 100} for r in rows + first]))
    assert expected in finding(found, "launch")["advice"]


@pytest.mark.parametrize("name, expected", [
    ("Memcpy DtoH (Device -> Pageable)", "copy to pinned memory with non_blocking=True"),
    ("Memcpy HtoD (Pageable -> Device)", "pin_memory=True and .to(device"),
    ("Memcpy DtoD (Device -> Device)", "on another stream")])
def test_the_remedy_for_a_copy(tmp_path, name, expected):
    rows = [*launch(1, 0, 5, 10), row("cuda_runtime", "cudaMemcpyAsync", 2, 3, 100, 42, cbid=41),
            operation("gpu_memcpy", name, 2, 10, 100)]
    assert expected in finding(report(write(tmp_path / "t.json", rows)), "copy")["advice"]


def test_the_cpu_is_late_after_a_wait(tmp_path):
    """Each step ends with cudaDeviceSynchronize, 10 us after its kernel. The next launch comes 300 us later."""
    rows = []
    for n in range(5):
        at = 1000 * n
        rows += [step(n, at, 990), *launch(2 * n + 1, at + 300, at + 310, at + 900),
                 row("cuda_runtime", "cudaDeviceSynchronize", 2 * n + 2, at + 310, 690, 42, cbid=165,
                     wait_at="/a/train.py:9 main")]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": rows, "syncline": {"version": "0.1.0"}}))
    found = report(path)
    late, sync = finding(found, "cpu-late"), finding(found, "sync")
    assert late["text"].startswith("before cudaLaunchKernel (near train.py:9 main) the CPU does other work for 300 us, ")
    assert late["text"].endswith("; the queue is empty because of the wait before it at train.py:9 main")
    assert "torch.cuda.synchronize()" in late["advice"]
    assert sync["advice"].endswith("leave it out: up to 320 us a step back, with the late launches after it")


def test_a_rare_loss_is_not_0(tmp_path):
    """One launch of 30 finds the GPU idle, or one wait in 10 steps."""
    kernels = [(n, 3 * n, 100 + 50 * n, 150 + 50 * n) for n in range(30)]
    rows = [each for n, ts, start, end in kernels for each in launch(n + 1, ts, start, end)]
    rows += [step(n, 9 * n, 9) for n in range(10)] + [cpu_op("late", 1500, 100)]
    late = [step(10, 1500, 500), *launch(40, 1650, 1660, 1700)]
    found = finding(report("--steps", "0..10", write(tmp_path / "t.json", rows + late)), "cpu-late")
    assert "0.1 of 3 launches a step find the GPU idle" in found["text"]
    late = [step(10, 1500, 500), *launch(40, 1850, 1860, 1900)]
    found = finding(report("--steps", "0..10", write(tmp_path / "t.json", rows + late)), "cpu-late")
    assert found["text"].endswith("does other work for 250 us, once in 11 steps")


def test_notes_are_the_sentences_of_the_screen(tmp_path):
    """In JSON, and so on the page, as on the screen."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [
        step(1, 0, 100), *launch(1, 5, 10, 110), *nccl(2, 6, 110, 120), *launch(3, 500, 510, 900)]}))
    _, text = screen(path)
    notes = report(path)["notes"]
    for beginning in ["GPU-bound in all steps", "The steps are only 12 % of the recorded time",
                      "Waits of streams are not known", "Waiting for late ranks is not told from transfer"]:
        (note,) = [each for each in notes if each.startswith(beginning)]
        assert note in text
    (note,) = report(write(tmp_path / "u.json", launch(1, 5, 10, 110)))["notes"][1:]
    assert note.startswith("No steps: ")


def test_ranks_that_name_no_host(tmp_path):
    """Files of torch.profiler. The ranks are of one host only if the ends of collectives agree."""
    paths = [rank_trace(tmp_path, 0, 0, 30), rank_trace(tmp_path, 1, 0, 70)]
    found = report(*paths)
    assert finding(found, "rank-late")["sure"] == "inferred"
    assert any("inferred: the files do not name their hosts" in note for note in found["notes"])
    paths = [rank_trace(tmp_path, 0, 0, 30, host_name="a"), rank_trace(tmp_path, 1, 0, 70, host_name="a")]
    assert finding(report(*paths), "rank-late")["sure"] == "measured"
    for apart, matched in [(100, 0), (30, 1)]:  # the same rows, by clocks that differ
        paths = [rank_trace(tmp_path, rank, 0, 21, baseTimeNanoseconds=10**18 + rank * apart * 1000)
                 for rank in range(2)]
        found = report(*paths)
        assert "rank-late" not in {each["id"] for each in found["findings"]}
        assert {each["matched"] for each in table(found, "collectives")} == {matched}
        assert any("the files name no hosts" in note for note in found["notes"]) == (not matched)
    paths = [rank_trace(tmp_path, rank, 0, 30, baseTimeNanoseconds=None) for rank in range(2)]
    assert any("lack baseTimeNanoseconds" in note for note in report(*paths)["notes"])


def test_a_graph_launch_is_one_launch(tmp_path):
    found = report(write(tmp_path / "t.json", [each for n in range(4) for each in graph_step(n + 1, 300 * n)]))
    launches = finding(found, "launch")
    assert "0.8 of 1 launches a step" in launches["text"] and "capture more" in launches["advice"]
    gaps = finding(found, "kernel-gaps")
    assert gaps["text"].startswith("4 gaps a step") and "CUDA graphs" not in gaps["advice"]
    assert "0.8 of 1 launches a step" in finding(found, "cpu-late")["text"]
    assert "CUDA graphs" not in finding(found, "cpu-late")["advice"]

"""Tests the args of operator rows: inputs, and texts that the program chose."""
import pathlib
import subprocess

import pytest
from test_ops import UNDER, compare, theirs_of


def test_every_type_is_named(torch, tmp_path):
    job = tmp_path / "job.py"
    job.write_text("""
import torch
for dtype in {value for value in vars(torch).values() if isinstance(value, torch.dtype)}:
    torch.empty(3, dtype=dtype).view(3, 1)
torch.cuda.synchronize()
""")
    theirs = tmp_path / "theirs.json"
    run = torch.run(torch.python, UNDER, theirs, "shapes", job, ops="full")
    assert run.status == 0, run.stderr
    trace = run.trace()
    compare(trace, theirs_of(theirs))
    types = {row["args"]["Input type"][0] for row in trace.of("cpu_op") if row["name"] == "aten::view"}
    assert {"float", "c10::BFloat16", "c10::Float8_e4m3fn"} <= types and "unknown" not in types


@pytest.mark.full(seconds=5.2)
def test_classes_that_answer_themselves(torch, tmp_path):
    """A tensor subclass computes its own sizes and layout in Python. Recording does not call that code. The
    rows have the sizes with which the tensors were created."""
    job = tmp_path / "job.py"
    job.write_text("""
import collections, torch
asked = collections.Counter()
class Asked(torch.Tensor):
    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(
            cls, inside.shape, strides=inside.stride(), dtype=inside.dtype, device=inside.device,
            dispatch_sizes_strides_policy="sizes", dispatch_layout=True)
    def __init__(self, inside):
        self.inside = inside
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        asked[str(function)] += 1
        for word, answer in ("size", "shape"), ("stride", "stride"), ("layout", "layout"):
            if word in str(function):
                answer = getattr(args[0].inside, answer)
                return answer() if callable(answer) else answer
        return function(*(a.inside if isinstance(a, Asked) else a for a in args), **(kwargs or {}))
tensor = Asked(torch.ones(4, 3, device="cuda").t())
for _ in range(5):
    torch.sinh(tensor)
torch.cuda.synchronize()
print(sorted(asked.items()))
""")
    bare, run = torch.run(torch.python, job, inject=False), torch.run(torch.python, job, ops="full")
    assert bare.status == 0 and "('aten.sinh.default', 5)" in bare.stdout, bare.stderr
    assert (run.status, run.stdout) == (0, bare.stdout), run.stderr
    rows = [row["args"] for row in run.trace().of("cpu_op") if row["name"] == "aten::sinh"]
    assert len(rows) == 10
    assert all(row["Input Dims"] == [[3, 4]] and row["Input Strides"] == [[1, 3]] for row in rows)


@pytest.mark.full(seconds=3.6)
def test_texts_of_the_programs(torch, tmp_path):
    """The program chooses the name of a group, or a keyword of a record function. The row contains this
    text, whatever characters are in it."""
    job = tmp_path / "job.py"
    job.write_text(r"""
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
a = torch.ones(8, device="cuda")
dist.all_reduce(a, group=dist.new_group([0], group_desc='the "inner" \\ group'))
with profile(activities=[ProfilerActivity.CPU], record_shapes=True):
    with torch._C._profiler._RecordFunctionFast("told", [], {'a "b"': 'c "d"'}):
        a.sinh()
torch.cuda.synchronize()
dist.destroy_process_group()
""")
    run = torch.run(torch.python, job, ops="full")
    assert run.status == 0, run.stderr
    rows = [row["args"] for row in run.trace().of("cpu_op")]
    groups = {row.get("Process Group Description") for row in rows}
    assert r'the "inner" \ group' in groups
    assert any(row.get('a "b"') == 'c "d"' for row in rows)


@pytest.mark.full(seconds=4.7)
def test_numbers_in_any_locale(torch, tmp_path):
    """The program sets a locale with another decimal point. Numbers in the trace are not affected."""
    if not pathlib.Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no locale with another point, nor anything to make one of")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], check=True)
    job = tmp_path / "job.py"
    job.write_text("""
import locale, torch
from torch.profiler import ProfilerActivity, profile
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
a = torch.ones(8, device="cuda")
with profile(activities=[ProfilerActivity.CPU], record_shapes=True):
    with torch._C._profiler._RecordFunctionFast("told", [], {"half": 0.5}):
        a.clamp_(0.25)
torch.cuda.synchronize()
""")
    run = torch.run(torch.python, job, ops="full", LOCPATH=str(tmp_path))
    assert run.status == 0, run.stderr
    rows = {row["name"]: row["args"] for row in run.trace().of("cpu_op")}
    assert float(rows["told"]["half"]) == 0.5 and rows["aten::clamp_"]["Concrete Inputs"][1] == "0.25"

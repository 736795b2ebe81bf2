"""Jobs with many processes under `syncline run -- COMMAND`. The package is in each process from the start of
Python. A process that uses CUDA has a complete file, and other processes have no file. The job is not
affected."""
import re

import harness
import pytest
from test_jobs import check_operators, check_passes, told
from test_ranks import per_rank
from tiers import full_but

RUN = [harness.TOOL, "run", "--"]
VARIABLE = []  # nothing precedes the command, because `syncline run` sets the variable


def check_said(run: harness.Run, processes: int, first_ranks: int | None = None) -> None:
    """Checks that each process that uses CUDA printed its output folder, that those of rank 0 (by default all)
    printed how much they wrote, and that nothing else was printed."""
    assert sorted(line.split()[1] for line in run.said()) == ["recording"] * processes + \
        ["wrote"] * (processes if first_ranks is None else first_ranks), run.stderr


def check_files(torch, run: harness.Run, processes: int) -> list[harness.Trace]:
    """Returns the traces. Checks that each of the processes has a folder and a complete trace, and that there
    are no other folders."""
    assert len(list(run.out.glob("*/*"))) == processes and not run.files("*.part"), run.files("*")
    found = per_rank(run, torch.tmp / str(torch.count))
    assert len(found) == processes
    for own, trace in found:
        harness.check_trace(own, trace)
        check_passes(trace.path)
        check_operators(trace, "")
    return [trace for _, trace in found]


@pytest.mark.full(seconds=17)
def test_torchrun(torch):
    """torchrun's agent does not use CUDA. Each rank's trace has the rank's operators from the first CUDA call
    on."""
    bare = torch.ranks("ddp", 2, inject=False)
    run = torch.ranks("ddp", 2, before=RUN, inject=False)
    assert bare.status == 0, bare.stderr
    assert told(run)[:2] == told(bare)[:2]
    check_said(run, 2, first_ranks=1)
    traces = check_files(torch, run, 2)
    assert [trace.object["distributedInfo"]["rank"] for trace in traces] == [0, 1]
    assert [trace.object["distributedInfo"]["world_size"] for trace in traces] == [2, 2]


def told_by_job(run: harness.Run) -> tuple[int, str, str]:
    """Returns the result of told() without a warning that Python prints only sometimes: if a
    program ends while the thread of a queue releases the queue's semaphore, Python reports the
    semaphore as leaked."""
    status, out, err = told(run)
    return status, out, re.sub(r".*resource_tracker\.py:\d+: UserWarning: .*\n  warnings\.warn\(.*\n", "", err)


@pytest.mark.parametrize("method", full_but(["fork"], ["fork", "spawn"], seconds=28))
def test_workers_of_a_loader(torch, method):
    """A data loader's workers do not use CUDA. The workers leave no files and print nothing."""
    bare = torch.job("loader", method, inject=False)
    assert bare.status == 0, bare.stderr
    for before in (RUN, VARIABLE):
        run = torch.job("loader", method, before=before, inject=not before, sim=torch.processes())
        assert told_by_job(run) == told_by_job(bare)
        check_said(run, 1)
        check_files(torch, run, 1)


GPU_WORKERS = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset

class OnGpu(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return (torch.full((4,), float(index), device="cuda") + 1).cpu()

if __name__ == "__main__":
    print(sum(batch.numel() for batch in DataLoader(OnGpu(), batch_size=2, num_workers=2,
                                                    multiprocessing_context="spawn")))
"""


@pytest.mark.parametrize("before", full_but([VARIABLE], [RUN, VARIABLE], seconds=6),
                         ids=["run", "variable"])
def test_workers_that_use_cuda(torch, before):
    """A loader's workers use CUDA. The workers have files like all processes, although
    multiprocessing ends them by os._exit(). The process that reads the batches does not use CUDA and has no
    file."""
    job = torch.tmp / "job.py"
    job.write_text(GPU_WORKERS)
    run = torch.run(*before, torch.python, job, inject=not before, sim=torch.processes())
    assert (run.status, run.stdout) == (0, "32\n"), run.stderr
    check_said(run, 2)
    traces = check_files(torch, run, 2)
    assert sum(len([row for row in trace.of("cpu_op") if row["name"] == "aten::add"])
               for trace in traces) == 8

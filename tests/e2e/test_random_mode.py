"""Runs random programs on a simulated GPU whose options are random too. The program neither crashes
nor hangs, and syncline's events are the events of the truth without those that the simulator's log
reports as lost. `tests/simgpu/run --random SEED --random-errors` repeats a failing seed."""
import concurrent.futures

import random_program
import random_waits
import pytest

import harness
from tiers import SEED

BATCH = 10
AT_ONCE = 5  # several runs at once, because a run sleeps most of the time
PAUSE = 1_000_000  # us


def run(seed, folder):
    program = random_program.program(seed)
    # The program runs in one window. The pause lets late records arrive.
    steps = [step for step in program.steps if step.split()[1] not in ("start", "stop")]
    path = folder / "steps"
    path.write_text("".join(step + "\n" for step in [*steps, f"0 sleep {PAUSE}"]))
    # CUPTI gets only 16 buffers, so that it may run out of them. Every second seed also has edges
    # inside graphs, for which syncline is CUPTI's subscriber.
    return harness.run(folder, random_waits.PROGRAM, path, log="warn", cupti_memory="8MiB",
                       graph_edges=str(seed % 2),
                       sim=["--random", str(seed), "--random-errors",
                            "--devices", str(random_program.DEVICES)])


def check(run_):
    """Returns "" if everything is as expected, else a message."""
    chosen = next(line for line in run_.stderr.splitlines() if line.startswith("simgpu: random"))
    if run_.status != 0:
        return f"{chosen}\nstatus {run_.status}\n{run_.stderr}"
    traces = run_.traces()
    # If a flush hangs, the exit stops waiting, and the records before that flush are lost.
    is_cut = "--cupti-hang" in chosen
    if any(line["what"] == "clock" for line in run_.log):
        harness.correct_clock(run_, traces)
    wrong = [differ(run_, traces, is_cut) for differ in (
        harness.operations_differ, harness.calls_differ, harness.waits_differ)]
    wrong += [str(line) for line in run_.log if line["what"] == "misuse"]
    return "\n".join([chosen, *wrong]) if any(wrong) else ""


def check_batch(tmp_path, seeds):
    folders = [tmp_path / str(seed) for seed in seeds]
    for folder in folders:
        folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [check(run_) for run_ in pool.map(run, seeds, folders)]
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.parametrize("first", range(SEED, SEED + 40, BATCH))
def test_seeds_of_this_commit(tmp_path, first):
    check_batch(tmp_path, range(first, first + BATCH))


@pytest.mark.full(seconds=1.7)
@pytest.mark.parametrize("first", range(1, 201, BATCH))
def test_two_hundred_seeds(tmp_path, first):
    check_batch(tmp_path, range(first, first + BATCH))


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_under_sanitizers(tmp_path, seed):
    check_batch(tmp_path, [seed])

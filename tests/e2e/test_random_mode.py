"""Random programs on a simulated GPU that mixes hard edges from a seed: no crash, no hang, and
syncline's events are the truth minus what the simulator logged. A seed that fails is repeated by
`tests/simgpu/run --random SEED`."""
import random_program
import random_waits
import pytest

import harness

BATCH = 5
PAUSE = 600_000  # us


def check(seed, folder):
    """"" if all is well."""
    program = random_program.program(seed)
    # In one window; the pause is for what comes late.
    steps = [step for step in program.steps if step.split()[1] not in ("start", "stop")]
    path = folder / "steps"
    path.write_text("".join(step + "\n" for step in [*steps, f"0 sleep {PAUSE}"]))
    run = harness.run(folder, random_waits.PROGRAM, path, log="warn",
                      sim=["--random", str(seed), "--devices", str(random_program.DEVICES)])
    chosen = next(line for line in run.stderr.splitlines() if line.startswith("simgpu: random"))
    if run.status != 0:
        return f"{chosen}\nstatus {run.status}\n{run.stderr}"
    traces = run.traces()
    wrong = [harness.operations_differ(run, traces), harness.calls_differ(run, traces)]
    # A wait that comes twice is known by a memory of the last ones only.
    if "--cupti-twice" not in chosen:
        wrong.append(harness.waits_differ(run, traces))
    wrong += [str(line) for line in run.log if line["what"] == "misuse"]
    return "\n".join([chosen, *wrong]) if any(wrong) else ""


def check_batch(tmp_path, seeds):
    wrong = []
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        wrong.append(check(seed, folder))
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.parametrize("first", range(1, 21, BATCH))
def test_hard_edges_mixed(tmp_path, first):
    check_batch(tmp_path, range(first, first + BATCH))


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_under_sanitizers(tmp_path, seed):
    check_batch(tmp_path, [seed])


@pytest.mark.long
@pytest.mark.parametrize("first", range(21, 201, BATCH))
def test_two_hundred_seeds(tmp_path, first):
    check_batch(tmp_path, range(first, first + BATCH))

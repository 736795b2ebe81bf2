"""The runs of a job: the files of one run have the same id on all ranks, and another run has another id."""
import pathlib
import shlex
import subprocess

import chakra
import harness


def ids(folder: pathlib.Path) -> dict[str, set]:
    """Returns the pairs of run id and start that the files of each kind have."""
    found = {}
    for path in folder.rglob("*.zst"):
        header = chakra.Et(path).header if ".et." in path.name else harness.Trace(path).object
        found.setdefault(path.name, set()).add((header["run_id"], header["run_start_ns"]))
    return found


def launch(folder: pathlib.Path, ranks: int, steps: str = "context kernel sync", **options: str) -> None:
    """Records a job of some ranks, which one shell launches, as torchrun on one machine does."""
    env = {"SYNCLINE_OUTPUT": str(folder / "out"), "SYNCLINE_JOB": "job", "WORLD_SIZE": str(ranks),
           "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
           "CUDA_INJECTION64_PATH": str(harness.LIBRARY), **options}
    command = shlex.join(map(str, (harness.SIMGPU, "--build", harness.BUILD, harness.SCENARIO, *steps.split())))
    script = "".join(f"RANK={rank} {command} & " for rank in range(ranks)) + "wait"
    subprocess.run(["sh", "-c", script], env=harness.environment(env), cwd=folder, check=True, timeout=60)


def test_ranks_of_one_run_have_one_id(tmp_path):
    launch(tmp_path, 2)
    found = ids(tmp_path)
    assert sorted(found) == ["1.0.et.zst", "1.1.et.zst", "1.pt.trace.json.zst"]
    assert len({run for runs in found.values() for run, _ in runs}) == 1, found


def test_the_next_run_of_the_job_has_another_id(tmp_path):
    for _ in range(2):
        launch(tmp_path, 1)
    for runs in ids(tmp_path).values():
        assert len({run for run, _ in runs}) == 2
        assert len({start for _, start in runs}) == 2


def test_our_own_id(tmp_path):
    launch(tmp_path, 1, SYNCLINE_RUN="first try")
    launch(tmp_path, 1, SYNCLINE_RUN="first try", MASTER_PORT="29501")
    assert {run for runs in ids(tmp_path).values() for run, _ in runs} == {"first_try"}

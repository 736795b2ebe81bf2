"""Tests problems around the job: a full or read-only disk, wrong options, and a CUPTI that is missing, too
old, used by another client, or failing. For each problem, syncline prints one clear line on stderr, and the
job continues with its own result."""
import glob
import os
import subprocess

import pytest

import harness

STEPS = "context kernel:10 sync return:3"


def one_line(run: harness.Run, *words: str) -> None:
    """Checks that the program ended as without syncline, and that syncline printed exactly one
    line, which has these words."""
    assert (run.status, run.stdout) == (3, "done\n"), run.stderr
    assert len(run.said()) == 1, run.stderr
    for word in words:
        assert word in run.said()[0], f"{word!r} is not in: {run.said()[0]}"


@pytest.mark.parametrize("option, value", [
    ("compression", "zstd:99"), ("compression", "lzma"), ("memory", "1KiB"), ("memory", "lots"),
    ("detail", "most")])
def test_wrong_value(go, option, value):
    run = go(STEPS, log="warn", **{option: value})
    one_line(run, f"SYNCLINE_{option.upper()}={value}", "default")
    assert len(run.trace().of("kernel")) == 10, "the default is used"


@pytest.mark.parametrize("option, value, means", [
    ("window", "sometimes", "recording waits for start()"),
    ("window", "time:5s/1s", "recording waits for start()"),
    ("kinds", "kernel,frobnicate", "no GPU work and no CUDA calls are recorded"),
    ("enabled", "perhaps", "recording is off")])
def test_a_wrong_value_never_means_everything(go, option, value, means):
    run = go(STEPS, log="warn", **{option: value})
    one_line(run, f"SYNCLINE_{option.upper()}={value} is ", means)
    assert not any(trace.of("kernel", "cuda_driver") for trace in run.traces())
    assert option == "kinds" or run.files("*") == []


@pytest.mark.parametrize("value", ["off", "none", "nonsense"])
def test_execution_traces_that_are_off_or_wrong(go, value):
    run = go(STEPS, log="warn", chakra=value)
    assert len(run.trace().of("kernel")) == 10 and run.files("*.et*") == []
    assert len(run.said()) == (value == "nonsense")


def test_wrong_log_level(go):
    run = go(STEPS, log="loud")
    assert [line for line in run.said() if "SYNCLINE_LOG=loud" in line]
    assert run.status == 3 and len(run.trace().of("kernel")) == 10


def test_unknown_option_names_the_nearest(go):
    one_line(go(STEPS, log="warn", SYNCLINE_OUTPT="/tmp"), "SYNCLINE_OUTPT", "SYNCLINE_OUTPUT")


def test_many_unknown_options_are_counted(go):
    run = go(STEPS, log="warn", **{f"SYNCLINE_UNKNOWN_{i}": "1" for i in range(1000)})
    assert len(run.said()) == 9 and "992 more SYNCLINE_* variables" in run.said()[-1]


def test_folder_that_cannot_be_made(go, tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    one_line(go(STEPS, log="warn", output=str(file / "below")), "cannot write", str(file))
    assert file.read_text() == "in the way"


def test_file_that_may_not_be_written(tmp_path):
    """The output folder is not writable. syncline prints one line and writes no file."""
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o555)
    command = [harness.SCENARIO, *STEPS.split()]
    if os.getuid() == 0:
        # Root ignores permissions unless it drops that capability. The test does not switch to
        # another user, because that user could not read a checkout below /root.
        command = ["setpriv", "--bounding-set=-dac_override", *command]
    run = harness.run(tmp_path, *command, log="warn", output=str(folder))
    one_line(run, "cannot write", "Permission denied", "SYNCLINE_OUTPUT")
    assert list(folder.iterdir()) == []


def test_missing_parents_are_made(go, tmp_path):
    run = go(STEPS, log="warn", output=str(tmp_path / "a" / "b" / "c"))
    assert run.said() == [] and len(run.trace().of("kernel")) == 10


def said_of_disk(run: harness.Run) -> list[str]:
    """Returns syncline's lines about a full disk, and checks that there is at most one per file.
    The lines report either that the disk is full, or that syncline stops to leave a part of it
    free."""
    said = [line for line in run.said() if "No space left on device" in line or "stay free" in line]
    files = [line.split("cannot write ")[-1].split(": ")[0] for line in said]
    assert 1 <= len(said) == len(set(files)), run.stderr
    return said


def test_full_disk(go, small_disk):
    """The disk becomes full. Either syncline ends the window while a part of the disk is still
    free, or a write fails and the part that was written stays readable. Each file that could not be
    written is reported once."""
    run = go("context " + "kernel:3000 syncall sleep:1100 " * 6 + "return:3", log="warn",
             output=str(small_disk))
    assert (run.status, run.stdout) == (3, "done\n")
    said_of_disk(run)
    (path,) = run.files()
    assert harness.Trace(path).events, "nothing already recorded is lost"


@pytest.mark.full(seconds=1.5)  # on a busy machine the first block may not fit, and only the header is left
@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_full_disk_before_the_first_second_is_over(go, small_disk, compression):
    """The disk becomes full in the first second of the file. The part that was written before stays
    readable."""
    run = go("context kernel:20000 syncall return:3", log="warn", output=str(small_disk),
             compression=compression)
    assert (run.status, run.stdout) == (3, "done\n")
    said_of_disk(run)
    (path,) = run.files()
    assert len(harness.Trace(path).events) > 100


def test_disk_that_is_full_for_a_while(go, small_disk):
    """The first window fails because the disk is full. Space is freed, and the next window is complete."""
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        with pytest.raises(OSError):
            while True:
                file.write(bytes(4096))
    run = go("context start sleep:200 kernel:50 sync stop lost "
             f"unlink:{filler} start sleep:200 kernel:60 sync stop windows:1 return:3",
             log="warn", window="demand", lead_in="0", output=str(small_disk))
    assert run.status == 3 and "lost 1" in run.stdout and "windows 1" in run.stdout
    (said,) = said_of_disk(run)
    (whole,) = run.traces()
    assert whole.object["syncline"]["window"] == 2 and len(whole.of("kernel")) == 60


def test_relative_output_and_a_host_that_changes_its_folder(go):
    """The program changes its working directory. All windows are written below the directory in which it
    started."""
    run = go("context chdir:/ start sleep:200 kernel:5 sync stop windows:1 chdir:/tmp start "
             "sleep:200 kernel:6 sync stop windows:2 return:3",
             log="warn", window="demand", lead_in="0", output="some/where")
    assert (run.status, run.said()) == (3, [])
    traces = sorted(run.traces(), key=lambda trace: trace.path.name)
    assert [len(trace.of("kernel")) for trace in traces] == [5, 6]


def test_read_only_disk(go, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    one_line(go(STEPS, log="warn", output=str(small_disk / "out")), "cannot write",
             "Read-only file system")


def test_no_kind_can_be_enabled(go):
    run = go(STEPS, log="error", kinds="kernel,memcpy", sim=["--fail", "cuptiActivityEnable:0:999"])
    assert (run.status, run.stdout, run.files()) == (3, "done\n", [])
    assert run.said()[-1].endswith("nothing is recorded, the job is not affected")


# tests/unit/process/cupti_failures_test.c makes each function fail at each of its calls. This test
# runs a few of these cases.
@pytest.mark.parametrize("function, call", [
    ("cuptiActivityRegisterCallbacks", 0), ("cuptiActivityEnable", 1), ("cuptiActivityGetNextRecord", 2)])
def test_cupti_function_fails(go, function, call):
    """Call number `call` of the function fails, or every call if `call` is 0. The program is not
    affected, and the failure is reported in one line."""
    run = go("context kernel:10 sync sleep:300 kernel:5 sync return:3", log="warn",
             sim=["--fail", f"{function}:{call}:999"])
    assert (run.status, run.stdout) == (3, "done\n")
    failed = run.failed(function)
    if failed and function != "cuptiActivityGetNextRecord":  # (syncline can do without it)
        assert run.said(), f"{function} failed and nothing was said"
    if failed and function == "cuptiActivityRegisterCallbacks":
        assert run.files() == [] and "nothing is recorded" in run.said()[-1]
    elif not failed:
        assert len(run.trace().of("kernel")) == 15


@pytest.mark.parametrize("function, call", [
    ("cuptiSubscribe", 1), ("cuptiEnableCallback", 1), ("cuptiUnsubscribe", 0)])
def test_cupti_function_for_graphs_fails(go, function, call):
    """A CUPTI function that is needed only for graphs fails. Only edges inside graphs may be
    missing."""
    run = go("context stream graph:3 sync graph:2 sync return:3", log="warn", graph_edges="1",
             sim=["--fail", f"{function}:{call}:999"])
    assert (run.status, run.stdout) == (3, "done\n")
    assert run.failed(function) or function == "cuptiUnsubscribe"
    assert len(run.said()) <= 1, run.stderr
    trace = run.trace()
    assert not harness.operations_differ(run, [trace]), harness.operations_differ(run, [trace])
    assert [edge["kind"] for edge in trace.edges() if edge["dst_point"] == "end"]


def test_no_cupti(tmp_path):
    """CUPTI is not installed. syncline prints a message, and nothing is recorded. If a CUDA toolkit
    is installed, this run cannot see it."""
    hide = []
    if glob.glob("/usr/local/cuda*"):
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/local && exec "$@"', "sh"]
        if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode:
            pytest.skip("a CUDA toolkit is to be hidden: mounting needs root (and a container that "
                        "allows it)")
    run = harness.run(tmp_path, *hide, harness.SCENARIO, *STEPS.split(), log="warn",
                      sim=["--cupti", "none"], VIRTUAL_ENV="", CONDA_PREFIX="")
    one_line(run, "libcupti.so.13 was not found", "install", "nothing is recorded",
             "the job is not affected")
    assert run.files() == []


def test_cupti_that_is_too_old(go):
    """The process has loaded the CUPTI of CUDA 11. syncline does not load another CUPTI, and nothing is
    recorded."""
    old = harness.BUILD / "tests" / "e2e" / "old_cupti" / "libcupti.so.12"
    run = go(STEPS, log="warn", LD_PRELOAD=str(old))
    one_line(run, "libcupti.so.12", "older than CUDA 12.0", "use a newer", "nothing is recorded")
    assert run.files() == []


def test_injection_into_a_process_that_cannot_use_a_gpu(go):
    run = go(STEPS.replace("context", "init"), log="warn", sim=["--devices", "0"])
    assert run.files() == [] and run.said() == []

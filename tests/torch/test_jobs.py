"""Runs PyTorch jobs with and without syncline. The results are the same, and the trace has every
event in the simulator's truth, PyTorch's operators and steps, and the source lines that wait."""
import collections
import dataclasses
import json
import re
import subprocess

import chakra
import chakra_replay
import harness
import pytest
from chakra_live import check_live
import summary_recount
from conftest import JOBS, REPO
from tiers import full_but


@dataclasses.dataclass
class Job:
    """What a test expects of a job's trace."""
    kernels: list[str]  # patterns of kernel names that must occur
    steps: int  # number of step rows: all steps that end except the first, whose beginning is unknown
    waits: list[str]  # texts of the lines that wait for the GPU
    may_wait: tuple = ()  # texts of lines that wait only if the GPU is still busy when the line runs
    first_waits: tuple = ()  # with several ranks: texts of further waiting lines of the first rank
    sim: tuple = ()  # options of the simulator
    arguments: tuple = ()  # arguments of the job; {} is replaced by a folder
    has_gaps: bool = False  # torch.profiler uses CUPTI for some time
    # some waits are on threads that run no code of the job, such as autograd's threads or a
    # loader's pin-memory thread
    without_line: bool = False
    outside: str = ""  # pattern of kernels that may be launched outside of operators


GEMM = "sm80_xmma_gemm_f32f32.*cublas"
SPLIT = "fmha|flash_fwd|cudnn_generated_fort_native_sdpa_.*fprop"
ONE_PROCESS = {
    "mlp": Job([GEMM, "nll_loss_forward", "FusedAdam|multi_tensor_apply"], 19,
               [").cuda()", "loss.item()"]),
    # The GradScaler waits for the GPU when it checks for infinities. The named line is the job's
    # line that calls the GradScaler.
    "transformer": Job(["nvjet_hsh_", SPLIT, "vectorized_layer_norm_kernel", "softmax_warp_forward"],
                       9, ["Model().cuda()", "scaler.step"]),
    # cuDNN measures algorithms in the forward pass and, on autograd's thread, in the backward pass.
    "convnet": Job(["xmma_fprop_implicit_gemm", "xmma_dgrad_implicit_gemm",
                    "xmma_wgrad_implicit_gemm", "cudnn::bn_fw_tr", "cudnn::bn_bw",
                    "nchwToNhwcKernel"], 9,
                   [").cuda()", "model(x)", "model.eval()", "cuda.synchronize"], without_line=True),
    "recurrent": Job(["LSTM_elementWise_fp", "LSTM_elementWise_bp1", "GRU_elementWise_fp",
                      "elemWiseRNNcell", "nvjet_hsh_"], 11,
                     [".cuda(), ", "nn.LSTM(32, 64).cuda()", "self.head(", ".cpu()"]),
    # Without an optimizer, batches define the steps. The first 32 batches do not count, and the
    # loop over the loader runs twice.
    "loader": Job(["at::native::"], 1, ["nn.Linear(256, 8).cuda()", "i.cpu()"], without_line=True),
    # If a line waits for work that another line has already waited for, its wait has no duration.
    "streams": Job([GEMM], 0, ["    torch.cuda.synchronize", "end.query()", "side[0].synchronize",
                               "blocking.synchronize", "e.query()"]),
    "syncs": Job(["at::native::", "DeviceRadixSort|DeviceSelect|cub::"], 0,
                 ["float32).cuda()", ".cpu()", "current_stream().synchronize", "cuda.synchronize",
                  ".item()", ".nonzero()", "(y > 0).all()", "repr(y", " stream.synchronize"]),
    # A replayed graph runs no operator and no optimizer step.
    "graphs": Job([GEMM], 3, [").cuda()", "with torch.cuda.graph", "x.copy_", "cuda.synchronize",
                              ".item()"], outside="cudaGraphLaunch"),
    "captured": Job([GEMM], 4, [").cuda()", "cuda.synchronize"], outside="cudaGraphLaunch"),
    "peers": Job([GEMM], 4, ["float32).to(first)", "nn.Linear(", ".cpu()", "synchronize(first)",
                             "stream.synchronize", "synchronize(device)"], sim=("--devices", "2")),
    "data_parallel": Job([GEMM, "ncclDevKernel_Broadcast", "ncclDevKernel_AllReduce_Sum_f32"], 4,
                         [").to(device)", "].tolist()", "stream.synchronize", ").cuda()",
                          "cuda.synchronize"], sim=("--devices", "2"),
                         outside="cuLaunchKernelEx"),
    "threads": Job([GEMM], 0, [").cuda().eval()", "float(which)).cuda()", "out.cpu()"]),
    "modules": Job([GEMM], 0, [".cuda()", "cuda.synchronize"]),
    "ranges": Job([GEMM], 2, [".cuda()", "loss.item()"]),
    # Code traced by torch.compile contains no hook of syncline, so there are no steps. In PyTorch
    # 2.7, no line of that code waits.
    "compiled": Job([GEMM], 0, [").cuda()", "optimizer.step()", "cuda.synchronize"],
                    may_wait="optimizer.step()"),
    "polls": Job([GEMM], 0, [").cuda()", ".item()"], may_wait=("cuda.synchronize", "done.query()")),
    "regions": Job([GEMM], 0, [").cuda()", ".item()"]),
    "forwards": Job([GEMM], 0, [").cuda()", ".item()"]),
    "lines": Job([GEMM], 0, ["  # waits: "], may_wait=("# waits: free",)),
    # After the last copy to the host, no work is pending.
    "memory": Job([GEMM], 3, [").cuda()", "here.cuda()", "images.cuda()", ".cpu()", "loss.item()"],
                  may_wait=("cuda.empty_cache", "cuda.synchronize")),
    "steps": Job([GEMM], 5, ["nn.Linear(16, 16).cuda()", "cuda.synchronize"], arguments=("plain",)),
    "profiled": Job([GEMM], 3, [").cuda()", "loss.item()", "cuda.synchronize"],
                    arguments=("plain", "{}/theirs.json"), has_gaps=True),
    "neighbour": Job([GEMM], 9, [").cuda()", "loss.item()"], arguments=("thrice", "{}"),
                     has_gaps=True),
    "handover": Job([GEMM], 7, [").cuda()", "loss.item()"], arguments=("plain", "{}"),
                    has_gaps=True),
}
UNPROFILED = [name for name, job in ONE_PROCESS.items() if not job.has_gaps]
# NCCL's watchdog queries events on its own thread. The allocator queries events when a later tensor needs
# memory.
RANKS = {
    "collectives": Job(["ncclDevKernel"], 0, [").cuda()", "p.cpu()", "dist.barrier()"],
                       may_wait=("dist.",), first_waits=("tensor.flatten().tolist()",),
                       without_line=True),
    "ddp": Job(["ncclDevKernel", GEMM], 9,
               [").cuda()", "DistributedDataParallel(model", "loss = ddp(", "total.item()",
                "dist.barrier()"], may_wait=(".backward()", "optimizer.", "dist.", ".clone()"),
               first_waits=("ones[0].item()",), without_line=True),
    "fsdp": Job(["ncclDevKernel"], 4, [").cuda()", ".item()", "dist.barrier()"],
                may_wait=("model(torch.randn(", ".backward()", "clip_grad_norm_", "optimizer."),
                without_line=True),
}


def check_passes(*paths) -> None:
    """Checks that `syncline check` finds no problem."""
    result = subprocess.run([harness.TOOL, "check", *paths], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def told(run: harness.Run) -> tuple[int, str, str]:
    """Returns exit status, stdout and stderr of the job, without the times that handover.py prints,
    and without the times and process ids in PyTorch's log."""
    own = harness.SAID.sub("", run.stderr)
    return (run.status, re.sub(r"\bsession \d+ \d+", "session", run.stdout),
            re.sub(r"^((?:\[rank\d+\]:)?\[?W)\d+ [\d:.]+ (\d+ )?", r"\1", own, flags=re.MULTILINE))


def check_same(bare: harness.Run, run: harness.Run) -> None:
    """Checks that the job printed the same text with and without syncline."""
    assert bare.status == 0, bare.stderr
    assert "not simulated" not in bare.stderr, bare.stderr
    assert told(run) == told(bare)
    assert [line.split()[1] for line in run.said()] == ["recording", "wrote"]


def check_operators(trace: harness.Trace, outside: str) -> None:
    """Checks that each GPU operation names the innermost operator around its launch. Operators are recorded
    from the first CUDA call on."""
    wrong = []
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_runtime", "cuda_driver")}
    threads = collections.defaultdict(list)
    for row in sorted(trace.of("cpu_op"), key=lambda row: (row["start"], -row["end"])):
        threads[row["tid"]].append(row)
    rows = trace.of("kernel", "gpu_memcpy", "gpu_memset")
    launches: dict[int, list[int]] = collections.defaultdict(list)
    for row in rows:
        launches[calls[row["args"]["correlation"]]["tid"]].append(row["args"]["correlation"])
    external = {row["args"]["correlation"]: row["args"].get("External id") for row in rows}
    for tid, ids in launches.items():
        open_ops, waiting = [], collections.deque(threads[tid])
        for id_ in sorted(ids, key=lambda id_: calls[id_]["start"]):
            call = calls[id_]
            while waiting and waiting[0]["start"] <= call["start"]:
                open_ops.append(waiting.popleft())
            while open_ops and open_ops[-1]["end"] < call["start"]:
                open_ops.pop()
            inner = [op for op in open_ops if op["end"] >= call["end"]]
            op = inner[-1]["args"]["External id"] if inner else None
            if external[id_] != op or op is None and call["name"] != outside:
                wrong.append((call, inner))
    assert len(wrong) <= trace.lost(), wrong[:3]
    assert len(launches) >= 1 and sum(map(len, launches.values())) > 0


def check_lines(trace: harness.Trace, job: Job, path, rank=0) -> None:
    """Checks that the waits name the waiting lines of the script, and that `edges --summary` prints them, with
    the numbers of a recount."""
    lines = dict(enumerate(path.read_text().splitlines(), 1))
    texts = [*job.waits, *(job.first_waits if rank == 0 else ())]
    wanted = {number for number, line in lines.items() if any(text in line for text in texts)}
    waited = collections.Counter()
    named = set()
    nameless = []
    for call in trace.of("cuda_runtime", "cuda_driver"):
        if "wait_kind" not in call["args"]:
            continue
        place = call["args"].get("wait_at")
        waited[place] += call["args"]["wait_ns"]
        if place is None:
            if not job.without_line or call["tid"] == call["pid"]:
                nameless.append(call)
            continue
        file, number = place.split(" ")[0].rsplit(":", 1)
        assert file == str(path), place
        named.add(int(number))
    allowed = {n for n, line in lines.items() if any(text in line for text in job.may_wait)}
    assert named <= wanted | allowed
    # A wait without a line may belong to one of the expected lines.
    assert len(wanted - allowed - named) <= len(nameless) <= trace.lost(), nameless[:3]
    totals = {group["name"]: group["total_ns"] for group in summary_recount.check(trace)["by_line"]}
    assert {place for place, ns in waited.items() if ns} <= set(totals) <= set(waited)
    assert all(totals[place] >= ns for place, ns in waited.items() if ns)


def check_job(folder, traces) -> None:
    """Checks the summary of a job's folder against the summaries of its files."""
    text = subprocess.run([harness.TOOL, "edges", "--summary", "--json", folder], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    *files, job = [json.loads(line) for line in text.splitlines()]
    assert sorted(file["rank"] for file in files) == sorted(traces) and job["slowest_rank"] in traces
    lines = collections.Counter()
    for group in (group for file in files for group in file["by_line"]):
        lines[group["name"]] += group["total_ns"]
    assert {group["name"]: group["total_ns"] for group in job["by_line"]} == lines
    assert job["gpu"]["total_ns"] == sum(file["gpu"]["total_ns"] for file in files)


def check_hta(folder, traces: dict[int, harness.Trace], job: Job) -> None:
    """Checks that HTA's analyzers and critical path run on the traces and find events."""
    made = subprocess.run([REPO / "tests" / "venv.sh", "hta"], check=True, stdout=subprocess.PIPE,
                          text=True)
    files = {}
    for rank, trace in traces.items():
        files[rank] = str(folder / f"{rank}.json.gz")
        subprocess.run([harness.TOOL, "convert", trace.path, "--to", "kineto-gz", "-o", files[rank]],
                       check=True, capture_output=True)
    done = subprocess.run([made.stdout.strip(), REPO / "tests" / "torch" / "hta_jobs.py",
                           folder / "hta", json.dumps(files)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    failed = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    assert not failed, failed
    for name in ("temporal", "idle", "kernels", "overlap", "operators", "launches", "queue"):
        assert answers[name] > 0, name
    assert (answers["steps"] > 0) == (job.steps > 0)
    paths = {name: answer for name, answer in answers.items() if "path" in name}
    assert len(paths) == len(traces) * (1 + (job.steps > 0))
    assert all(sum(path.values()) > 1 for path in paths.values()), paths


def check_simulated(et: chakra.Et) -> None:
    """Checks that a simulator, which reads only `duration_micros`, needs the recorded time."""
    recorded_us = max(node.end for node in et.nodes) / 1000
    assert abs(chakra_replay.simulate(et) - recorded_us) <= 0.03 * recorded_us


def check_steps(trace: harness.Trace, job: Job) -> None:
    names = {row["name"] for row in trace.of("user_annotation") if "ProfilerStep#" in row["name"]}
    assert len(names) == job.steps


# In the default tier these jobs are left out here, because tests in other files run them, or because they
# keep the machine busy (polls).
PLAYED_ELSEWHERE = {"profiled", "neighbour", "steps", "polls"}


@pytest.mark.parametrize("name", full_but(ONE_PROCESS.keys() - PLAYED_ELSEWHERE, ONE_PROCESS, seconds=6))
def test_job(torch, name):
    job = ONE_PROCESS[name]
    runs = []
    for inject in (False, True):
        folder = torch.tmp / f"files-{inject}"
        folder.mkdir()
        runs.append(torch.job(name, *(text.format(folder) for text in job.arguments), sim=job.sim,
                              inject=inject))
    check_same(*runs)
    trace = runs[1].trace()
    if not job.has_gaps:
        harness.check_trace(runs[1], trace)
    check_passes(trace.path)
    names = {row["name"] for row in trace.of("kernel")}
    for pattern in job.kernels:
        assert any(re.search(pattern, n) for n in names), f"no kernel is a {pattern}: {names}"
    assert trace.object["deviceProperties"] and "deviceProperties" not in trace.object["syncline"]
    assert trace.object["syncline"]["pytorch_version"] == torch.version
    assert trace.object["syncline"]["python_version"].startswith("3.")
    check_operators(trace, job.outside)
    check_steps(trace, job)
    check_lines(trace, job, JOBS / f"{name}.py")
    assert len(check_live(runs[1].out, torch.tmp)) == len(runs[1].traces())


@pytest.mark.parametrize("name", full_but(["transformer"], ONE_PROCESS, seconds=7))
def test_job_in_hta(torch, name):
    job = ONE_PROCESS[name]
    folder = torch.tmp / "files"
    folder.mkdir()
    run = torch.job(name, *(text.format(folder) for text in job.arguments), sim=job.sim)
    check_hta(torch.tmp, {0: run.trace()}, job)


def check_report(out):
    """The report of both ranks matches their collectives, and names a line of the job."""
    def report(*options):
        return subprocess.run([harness.TOOL, "report", *options, out], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
    found = json.loads(report("--json"))
    columns = [column["name"] for column in found["metrics"]["collectives"]["columns"]]
    collectives = [dict(zip(columns, values)) for values in found["metrics"]["collectives"]["rows"]]
    assert {c["rank"] for c in collectives if c["type"] == "all_reduce" and c["matched"]} == {0, 1}
    assert str(JOBS / "ddp.py") in {finding["where"]["file"] for finding in found["findings"]}
    lines = report().splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", full_but(["ddp"], RANKS, seconds=25))
def test_job_of_ranks(torch, name):
    """Two ranks run under torchrun. test_ranks.py checks their results."""
    runs = [torch.ranks(name, 2, inject=inject) for inject in (False, True)]
    assert [run.status for run in runs] == [0, 0], runs[1].stderr[-4000:]
    assert runs[0].stdout == runs[1].stdout
    bare, ours = (sorted(told(run)[2].splitlines()) for run in runs)  # two processes write to stderr
    assert bare == ours
    job = RANKS[name]
    traces = {trace.object["distributedInfo"]["rank"]: trace for trace in runs[1].traces()}
    assert set(traces) == {0, 1}
    for rank, trace in traces.items():
        check_operators(trace, job.outside)
        check_steps(trace, job)
        check_lines(trace, job, JOBS / f"{name}.py", rank)
    check_job(runs[1].out, traces)
    ets = check_live(runs[1].out, torch.tmp)
    assert len(ets) == 2
    if name == "ddp":
        for et in ets:
            check_simulated(et)
        check_report(runs[1].out)
    check_hta(torch.tmp, traces, job)


def test_every_job_is_here():
    """The last four are jobs of test_collectives.py, test_monitor.py and test_nccl_ranks.py."""
    assert {path.stem for path in JOBS.glob("*.py")} == {*ONE_PROCESS, *RANKS, "calls", "late", "monitored", "parallel"}


def test_graph_replays(torch):
    """Each replay repeats all captured operations, including those on the side stream."""
    trace = torch.job("graphs").trace()
    rows = collections.Counter(row["args"]["graph node id"] for row in trace.of("kernel", "gpu_memcpy")
                               if row["args"].get("graph id"))
    assert rows and set(rows.values()) == {10}
    side = {row["tid"] for row in trace.of("kernel") if row["args"].get("graph id")}
    assert len(side) > 1, "all nodes ran on one stream"


@pytest.mark.full(seconds=11.7)
@pytest.mark.parametrize("allocator, calls",
                         [("expandable_segments:True", {"cuMemAddressReserve", "cuMemCreate", "cuMemMap",
                                                        "cuMemSetAccess", "cuMemUnmap", "cuMemRelease"}),
                          ("backend:cudaMallocAsync", {"cudaMallocAsync", "cudaFreeAsync"})])
def test_other_allocators(torch, allocator, calls):
    """The job uses another allocator of PyTorch. Its GPU operations and their sizes are the same,
    and the trace has the driver calls of that allocator."""
    usual = torch.job("memory", inject=False)
    runs = [torch.job("memory", inject=inject, api="all", PYTORCH_CUDA_ALLOC_CONF=allocator)
            for inject in (False, True)]
    check_same(*runs)
    *said, kept, peak = runs[0].stdout.splitlines()
    *usually, usually_kept, usual_peak = usual.stdout.splitlines()
    assert (said, peak) == (usually, usual_peak)
    allocated, reserved, most = map(int, kept.split()[1:])
    assert 0 < allocated < most and allocated <= reserved
    assert (allocated, most) == tuple(map(int, usually_kept.split()[1::2]))
    trace = runs[1].trace()
    harness.check_trace(runs[1], trace)
    check_passes(trace.path)
    assert calls <= {row["name"] for row in trace.of("cuda_runtime", "cuda_driver")}
    copies = [row["name"] for row in trace.of("gpu_memcpy") if row["args"]["bytes"] > 40 << 20]
    assert sorted(copies) == (["Memcpy DtoD (Device -> Device)"] * 3 + ["Memcpy DtoH (Device -> Pageable)"] * 3
                              + ["Memcpy HtoD (Pageable -> Device)"] * 3)


@pytest.mark.full(seconds=3.5)
def test_peer_copies(torch):
    trace = torch.job("peers", sim=["--devices", "2"]).trace()
    assert {row["pid"] for row in trace.of("kernel")} == {0, 1}
    peers = [row for row in trace.of("gpu_memcpy") if "PtoP" in row["name"]]
    assert any(row["args"]["bytes"] == 4 << 16 for row in peers)


@pytest.mark.full(seconds=2)
def test_durations_are_modelled(torch):
    """The duration of a matrix product depends on its number of operations. The duration of a copy depends on
    its number of bytes."""
    script = torch.tmp / "large.py"
    script.write_text("import torch\n"
                      "for n in (1024, 4096):\n"
                      "    x = torch.empty(n, n, dtype=torch.bfloat16, device='cuda')\n"
                      "    y = x @ x\n"
                      "    z = y + x\n"
                      "torch.cuda.synchronize()\n")
    trace = torch.run(torch.python, script).trace()
    small, large = [row for row in trace.of("kernel") if "nvjet" in row["name"]]
    assert 30 < (large["end"] - large["start"]) / (small["end"] - small["start"]) < 64
    adds = [row for row in trace.of("kernel") if "CUDAFunctor_add" in row["name"]]
    assert adds[1]["end"] - adds[1]["start"] > 4 * (adds[0]["end"] - adds[0]["start"])


@pytest.mark.full(seconds=6.3)
def test_the_same_from_each_interface(torch):
    """Runs one job with each interface of CUPTI: the older calls, a subscriber with complete
    records, and a subscriber with selected fields. The traces are the same."""
    if torch.cupti.startswith("12"):
        pytest.skip("CUPTI 12 has the older calls alone")
    told = {}
    for api in ("v1", "v2-whole", "v2"):
        run = torch.job("streams", sim=["--cupti", "13.5"], cupti_api=api, log="warn")
        assert (run.status, run.said()) == (0, []), run.stderr
        assert any(line["what"] == "chosen" for line in run.log) == (api == "v2")
        trace = run.trace()
        harness.check_trace(run, trace)
        told[api] = collections.Counter(
            (row["cat"], row["name"], *(str(row["args"].get(key)) for key in (
                "device", "context", "stream", "bytes", "grid", "block", "registers per thread",
                "shared memory", "priority", "cuda_sync_kind", "wait_on_stream")))
            for row in trace.of("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_runtime",
                                "cuda_driver"))
    assert told["v1"] == told["v2-whole"] == told["v2"]
    assert sum(told["v1"].values()) > 100


@pytest.mark.full(seconds=4.6)
def test_long_training(torch):
    """A job of a hundred steps loses no record. (On a busy machine the recorder may be late
    once.)"""
    for _ in range(2):
        run = torch.job("mlp", "100")
        assert run.stdout == "mlp: 100 steps, loss read 10 times\n"
        trace = run.trace()
        harness.check_trace(run, trace)
        if not trace.lost():
            break
    counters = trace.counters
    assert (counters["ranges_lost"], counters["ops_lost"], counters["ops_forgotten"]) == (0, 0, 0)
    assert len(trace.of("cpu_op")) > 20000


@pytest.mark.parametrize("trouble", full_but(
    ["--cupti-drop 0.02 --cupti-twice 0.01 --cupti-no-time 0.02"],
    ["--cupti-shuffle --cupti-late 0.2 --nested-driver",
     "--cupti-drop 0.02 --cupti-twice 0.01 --cupti-no-time 0.02",
     "--correlation-start 4294967000 --cupti-overhead", "--cupti-steal 300", "--random 3"], seconds=3.7))
def test_in_trouble(torch, trouble):
    """CUPTI misbehaves in several ways. The job's result is unchanged, and every record that CUPTI
    delivered is in the trace."""
    run = torch.job("mlp", sim=[*trouble.split(), "--seed", "7"])
    assert (run.status, run.stdout) == (0, "mlp: 20 steps, loss read 2 times\n"), run.stderr
    trace = run.trace()
    assert not harness.operations_differ(run, [trace]), harness.operations_differ(run, [trace])
    assert not harness.calls_differ(run, [trace]), harness.calls_differ(run, [trace])

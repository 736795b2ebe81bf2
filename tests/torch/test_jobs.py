"""Jobs of PyTorch's, bare and with syncline injected: the same result, and a trace that holds what
the simulator knows to have happened."""
import collections
import re
import subprocess

import harness
import pytest

# job -> (options of the simulator, what its kernels must include, by a pattern of the name).
ONE_PROCESS = {
    "mlp": ([], ["sm80_xmma_gemm_f32f32.*cublas", "nll_loss_forward", "FusedAdam|multi_tensor_apply"]),
    "transformer": ([], ["nvjet_hsh_", "cudnn_generated_fort_native_sdpa_.*fprop|fmha|flash_fwd",
                         "vectorized_layer_norm_kernel", "softmax_warp_forward"]),
    "convnet": ([], ["xmma_fprop_implicit_gemm", "xmma_dgrad_implicit_gemm",
                     "xmma_wgrad_implicit_gemm", "cudnn::bn_fw_tr", "cudnn::bn_bw",
                     "nchwToNhwcKernel"]),
    "recurrent": ([], ["LSTM_elementWise_fp", "LSTM_elementWise_bp1", "GRU_elementWise_fp",
                       "elemWiseRNNcell", "nvjet_hsh_"]),
    "loader": ([], ["at::native::"]),
    "streams": ([], ["sm80_xmma_gemm_f32f32.*cublas"]),
    "syncs": ([], ["at::native::", "DeviceRadixSort|DeviceSelect|cub::"]),
    "graphs": ([], ["sm80_xmma_gemm_f32f32.*cublas"]),
    "peers": (["--devices", "2"], ["sm80_xmma_gemm_f32f32.*cublas"]),
    "threads": ([], ["sm80_xmma_gemm_f32f32.*cublas"]),
}


def check_passes(*paths) -> None:
    """`syncline check` finds nothing wrong."""
    result = subprocess.run([harness.TOOL, "check", *paths], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", ONE_PROCESS)
def test_job(torch, name):
    sim, kernels = ONE_PROCESS[name]
    bare = torch.job(name, sim=sim, inject=False)
    assert bare.status == 0, bare.stderr
    assert "not simulated" not in bare.stderr, bare.stderr
    run = torch.job(name, sim=sim)
    assert (run.status, run.stdout) == (0, bare.stdout), run.stderr
    trace = run.trace()
    harness.check_trace(run, trace)
    check_passes(trace.path)
    names = {row["name"] for row in trace.of("kernel")}
    for pattern in kernels:
        assert any(re.search(pattern, n) for n in names), f"no kernel is a {pattern}: {names}"


def test_graph_replays(torch):
    """What was captured comes again with each replay, side stream included."""
    trace = torch.job("graphs").trace()
    rows = collections.Counter(row["args"]["graph node id"] for row in trace.of("kernel", "gpu_memcpy")
                               if row["args"].get("graph id"))
    assert rows and set(rows.values()) == {10}
    side = {row["tid"] for row in trace.of("kernel") if row["args"].get("graph id")}
    assert len(side) > 1, "all nodes ran on one stream"


def test_peer_copies(torch):
    trace = torch.job("peers", sim=["--devices", "2"]).trace()
    assert {row["pid"] for row in trace.of("kernel")} == {0, 1}
    peers = [row for row in trace.of("gpu_memcpy") if "PtoP" in row["name"]]
    assert any(row["args"]["bytes"] == 4 << 16 for row in peers)


def test_durations_are_modelled(torch):
    """A product of large matrices takes what its operations take, a copy what its bytes take."""
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


def test_the_same_from_each_interface(torch):
    """CUPTI's older calls, a subscriber with whole records, and one with the fields that we read."""
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


def test_long_training(torch):
    """A hundred steps, several records a step: nothing lost."""
    run = torch.job("mlp", "100")
    assert run.stdout == "mlp: 100 steps, loss read 10 times\n"
    harness.check_trace(run, run.trace())


@pytest.mark.parametrize("trouble", ["--cupti-shuffle --cupti-late 0.2 --nested-driver",
                                     "--cupti-drop 0.02 --cupti-twice 0.01 --cupti-no-time 0.02",
                                     "--correlation-start 4294967000 --cupti-overhead",
                                     "--cupti-steal 300"])
def test_in_trouble(torch, trouble):
    """Whatever CUPTI does: the job's result, and every record that was delivered."""
    run = torch.job("mlp", sim=[*trouble.split(), "--seed", "7"])
    assert (run.status, run.stdout) == (0, "mlp: 20 steps, loss read 2 times\n"), run.stderr
    trace = run.trace()
    assert not harness.operations_differ(run, [trace]), harness.operations_differ(run, [trace])
    assert not harness.calls_differ(run, [trace]), harness.calls_differ(run, [trace])

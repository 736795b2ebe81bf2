"""Kernels of torch.distributed that NCCL describes, too: they have PyTorch's args, and from NCCL what PyTorch does not
tell."""
import pytest
from test_collectives import rows_of
from test_ranks import per_rank

# What a kernel says in PyTorch's words.
SIZES = {"NCCL count", "NCCL dtype", "NCCL bytes", "NCCL root", "NCCL peer"}
FUNCTIONS = {"all_reduce": "AllReduce", "all_gather_into_tensor": "AllGather", "all_gather": "AllGather",
             "reduce_scatter_tensor": "ReduceScatter", "reduce_scatter": "ReduceScatter", "broadcast": "Broadcast",
             "reduce": "Reduce", "barrier": "AllReduce", "send": "Send", "recv": "Recv"}


@pytest.mark.full(seconds=8)
def test_nccl_completes_the_args_of_pytorch(torch):
    run = torch.ranks("calls", 2, sim=["--nccl", "2.28"], SYNCLINE_NCCL="calls")
    assert run.status == 0, run.stderr
    for _, trace in per_rank(run, torch.tmp / "1"):
        kernels = rows_of(trace, "ncclDevKernel")
        assert len(kernels) > 20 and not any(SIZES & args.keys() for args in kernels)
        for args in kernels:
            assert args["Comm"].startswith("0x") and args["Comm ranks"] == args["Group size"]
            wanted = FUNCTIONS.get(args["Call"])
            if wanted and "Batch" not in args and "NCCL calls in kernel" not in args:
                assert args["NCCL call"] == wanted
                assert ("Algorithm" in args) == (wanted not in ("Send", "Recv")) and args["Channels"] >= 1
                assert ("Reduction" in args) == ("Reduce" in wanted)
        assert {args["Call"] for args in kernels} >= FUNCTIONS.keys() - {"all_gather", "reduce_scatter"}
        assert trace.counters["nccl_unjoined"] == trace.counters["nccl_odd_events"] == 0
        # The call that launches a kernel has no args of PyTorch, so it has all of NCCL's.
        launches = [row["args"] for row in trace.of("cuda_driver") if "NCCL call" in row["args"]]
        assert len(launches) == len(kernels) and all("NCCL bytes" in args for args in launches)

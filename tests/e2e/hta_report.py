"""Runs HolisticTraceAnalysis on the folder argv[1] and prints its numbers as JSON. test_hta.py runs this
program in the environment of `tests/venv.sh hta`, because HTA is installed only there."""
import json
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402  (HTA reads the variable above when it is imported)


def rows(frame):
    return json.loads(frame.reset_index().to_json(orient="records"))


def main() -> None:
    analysis = TraceAnalysis(trace_dir=sys.argv[1])
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    bandwidth = analysis.get_memory_bw_time_series(ranks=[0])
    report = {
        "temporal": rows(analysis.get_temporal_breakdown(visualize=False)),
        "idle": rows(analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0]),
        "types": rows(types),
        "kernels": rows(kernels),
        "overlap": rows(analysis.get_comm_comp_overlap(visualize=False)),
        "queue": rows(analysis.get_queue_length_time_series(ranks=[0])[0]),
        "bandwidth": rows(bandwidth[0]),
        "launch": rows(analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]),
    }
    json.dump(report, open(sys.argv[2], "w", encoding="utf-8"))


if __name__ == "__main__":
    main()

"""Runs the analyzers of HolisticTraceAnalysis on the folder argv[1], as `syncline report` does in one command.

report_bench.sh runs this in the environment of `tests/venv.sh hta`. Prints the CPU time of each analyzer as JSON; null
stands for an analyzer that raises an error. Three are left out: frequent kernel sequences fail on a trace with NCCL, the
delay from operator to kernel takes 3.7 s for 27 thousand rows, and the trace with counters is a trace."""
import json
import sys
import time
import warnings

warnings.simplefilter("ignore")
seconds = {}


def measure(name, function):
    began, result = time.process_time(), None
    try:
        result = function()
        seconds[name] = round(time.process_time() - began, 2)
    except Exception:  # HTA fails in many ways, and the rest must be measured
        seconds[name] = None
    return result


def main() -> None:
    from hta.trace_analysis import TraceAnalysis

    hta = measure("load", lambda: TraceAnalysis(trace_dir=sys.argv[1]))
    measure("temporal", lambda: hta.get_temporal_breakdown(visualize=False))
    measure("overlap", lambda: hta.get_comm_comp_overlap(visualize=False))
    measure("kernels", lambda: hta.get_gpu_kernel_breakdown(visualize=False))
    measure("idle", lambda: hta.get_idle_time_breakdown(visualize=False, show_idle_interval_stats=True))
    measure("launch", lambda: hta.get_cuda_kernel_launch_stats(visualize=False))
    measure("queue summary", hta.get_queue_length_summary)
    series = measure("queue series", hta.get_queue_length_time_series)
    measure("queue blocked", lambda: hta.get_time_spent_blocked_on_full_queue(series))
    measure("bandwidth summary", hta.get_memory_bw_summary)
    measure("bandwidth series", hta.get_memory_bw_time_series)
    measure("annotations", lambda: hta.get_gpu_user_annotation_breakdown(visualize=False))
    measure("stragglers", hta.get_potential_stragglers)
    measure("critical path", lambda: hta.critical_path_analysis(0, "ProfilerStep", 0))
    json.dump(seconds, sys.stdout)


main()

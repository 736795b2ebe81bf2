"""Runs every analyzer of HolisticTraceAnalysis, including its critical path, on the traces of a job. Prints
the results as JSON: {analyzer: number of rows, or the exception}. test_jobs.py runs this program in the
environment of `tests/venv.sh hta`.

    hta_jobs.py SCRATCH {rank: file, ...}"""
import collections
import json
import os
import pathlib
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402  (HTA reads the variable above when it is imported)


def count(answer):
    """Returns the number of rows of a table, a tuple of tables, or a dictionary with a table for each rank."""
    if isinstance(answer, dict):
        return sum(count(one) for one in answer.values())
    if isinstance(answer, tuple):
        return sum(count(one) for one in answer)
    return 0 if answer is None else len(answer)


def critical_path(analysis, rank, annotation, folder):
    """Returns the number of events on the critical path, by category."""
    graph, done = analysis.critical_path_analysis(rank=rank, annotation=annotation, instance_id=0)
    if not done:
        return "no critical path"
    analysis.overlay_critical_path_analysis(rank, graph, str(folder))
    events = graph.full_trace_df.loc
    return collections.Counter(
        "gpu" if events[index]["stream"] >= 0 else "cpu"
        for index in {graph.node_list[node].ev_idx for node in graph.critical_path_nodes})


def analyzers(analysis, ranks, folder):
    """Returns a dictionary: name -> function that runs the analyzer."""
    steps = analysis.get_profiler_steps()
    found = {
        "steps": lambda: steps,
        "temporal": lambda: analysis.get_temporal_breakdown(visualize=False),
        "idle": lambda: analysis.get_idle_time_breakdown(ranks=ranks, visualize=False),
        "kernels": lambda: analysis.get_gpu_kernel_breakdown(visualize=False),
        "annotated": lambda: analysis.get_gpu_kernels_with_user_annotations(ranks[0]),
        "annotations": lambda: analysis.get_gpu_user_annotation_breakdown(visualize=False),
        "cpu annotations": lambda: analysis.get_gpu_user_annotation_breakdown(
            use_gpu_annotation=False, visualize=False),
        "overlap": lambda: analysis.get_comm_comp_overlap(visualize=False),
        "operators": lambda: analysis.get_aten_op_kernels_and_delay(ranks=ranks),
        "sequences": lambda: analysis.get_frequent_cuda_kernel_sequences(
            "aten::linear", str(folder), rank=ranks[0], min_pattern_len=1),
        "launches": lambda: analysis.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False),
        "queue": lambda: analysis.get_queue_length_summary(ranks=ranks),
        "blocked": lambda: analysis.get_time_spent_blocked_on_full_queue(
            analysis.get_queue_length_time_series(ranks=ranks)),
        "bandwidth": lambda: analysis.get_memory_bw_summary(ranks=ranks),
    }
    for rank in ranks:
        found[f"critical path {rank}"] = \
            lambda rank=rank: critical_path(analysis, rank, "", folder)
        if steps:
            found[f"critical path of a step {rank}"] = \
                lambda rank=rank: critical_path(analysis, rank, "ProfilerStep", folder)
    return found


def report(files, folder):
    folder.mkdir(parents=True)
    ranks = sorted(map(int, files))
    analysis = TraceAnalysis(trace_files={rank: files[str(rank)] for rank in ranks},
                             trace_dir=str(folder))
    answers = {}
    for name, run in analyzers(analysis, ranks, folder).items():
        try:
            answer = run()
            answers[name] = answer if "path" in name else count(answer)
        except Exception as error:  # noqa: BLE001 - the exception is reported as the analyzer's result
            answers[name] = f"{type(error).__name__}: {error}"
    return answers


def main():
    json.dump(report(json.loads(sys.argv[2]), pathlib.Path(sys.argv[1])), sys.stdout)


if __name__ == "__main__":
    main()

"""Runs every analyzer of HolisticTraceAnalysis on several jobs, and prints its tables as JSON. test_report_hta.py
runs this program in the environment of `tests/venv.sh hta`.

    hta_tables.py REQUEST.json RESULT.json

The request is a list of {"files": {RANK: PATH}, "settings": {"TABLE.NAME": VALUE}}. The result has for each a map of
the names of `syncline report --hta` to {"columns", "rows"}, or to a text: the error with which HTA failed.

HTA sorts rows by time with numpy's default sort, which orders equal times differently on different processors.
This program makes that sort stable, so that the numbers are the same everywhere; nothing else is changed."""
import functools
import json
import logging
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import pandas  # noqa: E402
import plotly.graph_objects  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402

for kind in (pandas.DataFrame, pandas.Series):
    kind.sort_values = functools.partialmethod(kind.sort_values, kind="stable")
plotly.graph_objects.Figure.show = lambda *args, **kwargs: None


def table(frame, **columns) -> dict:
    """Returns a data frame as a table, after the columns that are given."""
    if frame is None:
        return {"columns": None, "rows": []}
    names = [(name[-1] or name[0]) if isinstance(name, tuple) else name for name in frame.columns]
    rows = [[*columns.values(), *row] for row in frame.itertuples(index=False, name=None)]
    return {"columns": [*columns, *names], "rows": [[value(cell) for cell in row] for row in rows]}


def value(cell):
    if isinstance(cell, str) or cell is None:
        return cell
    cell = cell.item() if hasattr(cell, "item") else cell
    return None if cell != cell else cell


def by_rank(frames: dict) -> dict:
    """Joins the tables of several ranks, with the rank as the first column."""
    tables = [table(frame, rank=rank) for rank, frame in frames.items()]
    tables = [each for each in tables if each["rows"]]
    columns = tables[0]["columns"] if tables else None
    rows = [dict(zip(each["columns"], row)) for each in tables for row in each["rows"]]
    return {"columns": columns, "rows": [[row[column] for column in columns] for row in rows]}


def options(settings: dict, name: str) -> dict:
    """Returns the settings of a table as arguments of HTA's method."""
    return {key.split(".")[1]: value for key, value in settings.items() if key.split(".")[0] == name}


def analyzers(analysis, settings: dict) -> dict:
    ranks = sorted(analysis.t.traces)
    quiet = {"visualize": False}
    idle = {**quiet, **options(settings, "idle_time_breakdown")}
    kernels = {**quiet, **options(settings, "gpu_kernel_breakdown_kernels")}

    def queue():
        return analysis.get_queue_length_time_series(ranks=ranks)

    def annotated():
        frames = {rank: analysis.get_gpu_kernels_with_user_annotations(rank) for rank in ranks}
        return by_rank({rank: frame for rank, frame in frames.items() if frame is not None})

    def operators():
        # With several ranks, HTA adds the rows of earlier ranks to those of later ones.
        return by_rank({rank: analysis.get_aten_op_kernels_and_delay(ranks=[rank])[rank] for rank in ranks})

    def sequences():
        with tempfile.TemporaryDirectory() as folder:
            return by_rank({rank: analysis.get_frequent_cuda_kernel_sequences(
                output_dir=folder, rank=rank, **options(settings, "frequent_cuda_kernel_sequences"))
                for rank in ranks})

    def blocked():
        series = queue()
        # HTA selects rows by their numbers. If a number occurs twice, because a call launched twice or shares its
        # correlation id, it selects wrong rows.
        if any(frame.index.has_duplicates for frame in series.values()):
            raise ValueError("the numbers of rows are ambiguous")
        return table(analysis.get_time_spent_blocked_on_full_queue(
            series, **options(settings, "time_spent_blocked_on_full_queue")))

    def reset(frame):
        return table(frame.reset_index())

    return {
        "temporal_breakdown": lambda: table(analysis.get_temporal_breakdown(**quiet)),
        "idle_time_breakdown": lambda: table(analysis.get_idle_time_breakdown(ranks=ranks, **idle)[0]),
        "idle_time_breakdown_intervals": lambda: reset(
            analysis.get_idle_time_breakdown(ranks=ranks, show_idle_interval_stats=True, **idle)[1]),
        "gpu_kernel_breakdown": lambda: table(analysis.get_gpu_kernel_breakdown(**kernels)[0]),
        "gpu_kernel_breakdown_kernels": lambda: table(analysis.get_gpu_kernel_breakdown(**kernels)[1]),
        "gpu_kernels_with_user_annotations": annotated,
        "gpu_user_annotation_breakdown": lambda: table(
            analysis.get_gpu_user_annotation_breakdown(**quiet, **options(settings, "gpu_user_annotation_breakdown"))),
        "comm_comp_overlap": lambda: table(analysis.get_comm_comp_overlap(**quiet)),
        "queue_length_summary": lambda: reset(analysis.get_queue_length_summary(ranks=ranks)),
        "queue_length_time_series": lambda: by_rank(queue()),
        "time_spent_blocked_on_full_queue": blocked,
        "memory_bw_summary": lambda: reset(analysis.get_memory_bw_summary(ranks=ranks)),
        "memory_bw_time_series": lambda: by_rank(analysis.get_memory_bw_time_series(ranks=ranks)),
        "cuda_kernel_launch_stats": lambda: by_rank(analysis.get_cuda_kernel_launch_stats(
            ranks=ranks, **quiet, **options(settings, "cuda_kernel_launch_stats"))),
        "aten_op_kernels_and_delay": operators,
        "potential_stragglers": lambda: {"columns": ["rank"], "rows": [
            [rank] for rank in analysis.get_potential_stragglers(**options(settings, "potential_stragglers"))]},
        "profiler_steps": lambda: {"columns": ["profiler_step"],
                                   "rows": [[step] for step in map(int, analysis.get_profiler_steps())]},
        "frequent_cuda_kernel_sequences": sequences,
    }


def run(job: dict) -> dict:
    files = {int(rank): path for rank, path in job["files"].items()}
    analysis = TraceAnalysis(trace_files=files, trace_dir="/", **options(job["settings"], "profiler_steps"))
    found = {}
    for name, analyze in analyzers(analysis, job["settings"]).items():
        try:
            found[name] = analyze()
        except Exception as error:  # noqa: BLE001 (that HTA fails is a result)
            found[name] = f"{type(error).__name__}: {error}"
    return found


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as f:
        jobs = json.load(f)
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        json.dump([run(job) for job in jobs], f)


if __name__ == "__main__":
    main()

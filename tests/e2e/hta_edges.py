"""Runs HolisticTraceAnalysis' critical path on the trace argv[1], annotation argv[2], instance
argv[3]. Prints the sync edges that HTA found, as JSON: [source correlation, destination
correlation, "start" or "end"]. test_edges_tool.py runs this program in the environment of
`tests/venv.sh hta`."""
import json
import sys
import warnings

warnings.simplefilter("ignore")

from hta.analyzers.critical_path_analysis import CPEdgeType  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402


def main() -> None:
    path, annotation, instance = sys.argv[1:]
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="/")
    graph, done = analysis.critical_path_analysis(rank=0, annotation=annotation,
                                                  instance_id=int(instance))
    assert done
    events = graph.full_trace_df.loc
    found = []
    for begin, end in graph.edges:
        if graph.edges[begin, end]["object"].type != CPEdgeType.SYNC_DEPENDENCY:
            continue
        source, destination = graph.node_list[begin], graph.node_list[end]
        found.append([int(events[source.ev_idx]["correlation"]),
                      int(events[destination.ev_idx]["correlation"]),
                      "start" if destination.is_start else "end"])
    json.dump(sorted(found), sys.stdout)


if __name__ == "__main__":
    main()

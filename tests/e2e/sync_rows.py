"""Rows of waits (`cuda_sync`): what the simulator's truth says they must be, all of them, down to each
arg that says what was waited for."""
import dataclasses

# The rows of waits, by what the truth calls the wait. Others have no record of their own.
KINDS = {"event_sync": "Event Sync", "event_query": "Event Sync", "stream_sync": "Stream Sync",
         "stream_query": "Stream Sync", "context_sync": "Context Sync", "device_sync": "Context Sync",
         "stream_wait": "Stream Wait Event"}
NONE = 0xffffffff  # no stream, no event
NOT_READY = 600
FIRST_SYNC_IDS = 26  # CUPTI 12.8: waits tell which of an event's records they waited for, and a result
RECORD_ARGS = ("wait_on_stream", "wait_on_cuda_event_record_corr_id", "wait_on_context",
               "wait_on_context_stream", "wait_on_context_record_corr_id")


def name_of(line: dict) -> str | None:
    """Of a line of the truth: which row it must have."""
    return KINDS.get({"wait": line.get("kind"), "follow": "stream_wait"}.get(line["t"]))


@dataclasses.dataclass
class Told:
    """What CUPTI had told of the objects that waits name."""
    devices: dict[int, int]  # by context
    records: list[dict]  # of events; the truth's lines, without those that were lost
    has_sync_ids: bool

    def record_of(self, wait: dict) -> dict | None:
        """The record that a wait's row must name: by its number; where there are none yet, the last one
        before the wait in its context."""
        if self.has_sync_ids:
            found = [line for line in self.records if line["sync"] == wait["sync"]]
        else:
            found = [line for line in self.records if line["corr"] < wait["corr"]
                     and (line["context"], line["event"]) == (wait["context"], wait["event"])]
        return max(found, key=lambda line: line["corr"], default=None)


def told(truth: list[dict], lost: list[dict], version: int) -> Told:
    gone = {line["correlation"] for line in lost if line["kind"] == "cuda_event"}
    return Told({line["context"]: line["device"] for line in truth
                 if line["t"] == "object" and line["kind"] == "context" and line["created"]},
                [line for line in truth if line["t"] == "event" and line["corr"] & NONE not in gone],
                version >= FIRST_SYNC_IDS)


def named(wait: dict, name: str, record: dict | None) -> dict:
    """The args that say what was waited for, by docs/trace-format.md."""
    args = {} if wait["event"] in (0, NONE) else {"wait_on_cuda_event_id": wait["event"]}
    if not record:
        return args
    itself = name == "Stream Wait Event" and record["stream"] == wait["stream"]
    if record["context"] == wait["context"] and not itself:
        values = (record["stream"], record["corr"], None, None, None)
    else:
        values = (None, None, record["context"], record["stream"], record["corr"])
    return args | {key: value for key, value in zip(RECORD_ARGS, values) if value is not None}


def row(wait: dict, name: str, device: int, args: dict) -> tuple:
    stream = -1 if wait["stream"] == NONE else wait["stream"]
    track = {"Stream Wait Event": stream, "Stream Sync": stream + 1000000}.get(name, 1000000)
    args = args | {"cuda_sync_kind": name, "device": device, "context": wait["context"],
                   "stream": stream, "correlation": wait["corr"]}
    return (wait["corr"], name, device, track, wait["start"], wait["end"], *sorted(args.items()))


@dataclasses.dataclass
class Expected:
    rows: list[tuple] = dataclasses.field(default_factory=list)
    unplaced: dict[tuple, tuple] = dataclasses.field(default_factory=dict)  # -> which row it is
    untold: set[tuple] = dataclasses.field(default_factory=set)  # may be there or not

    def settled(self, found: list[tuple]) -> list[tuple]:
        """Those found, as far as they must be there, on the devices where they must be."""
        return [self.unplaced.get(each, each) for each in found if each not in self.untold]


def expected(truth: list[dict], lost: list[dict], version: int, full: bool) -> Expected:
    """The rows of the truth minus what was lost; `version`: of CUPTI's interface; `full`: at that
    detail. A wait of a context whose description was lost may count for device 0. A query that found
    nothing has no row; where neither its record nor its call's says so, it may."""
    tells = told(truth, lost, version)
    gone = {kind: {line["correlation"] for line in lost if line["kind"] == kind}
            for kind in ("sync", "context", "runtime", "driver")}
    undescribed = {line["context"] for line in truth if line["t"] == "object"
                   and line["kind"] == "context" and line["corr"] & NONE in gone["context"]}
    result = Expected()
    for wait in truth:
        name = name_of(wait)
        id_ = wait.get("corr", 0) & NONE
        if not name or id_ in gone["sync"]:
            continue
        args = named(wait, name, tells.record_of(wait) if wait["event"] != NONE else None)
        if tells.has_sync_ids and wait.get("result"):
            args["result"] = wait["result"]
        if tells.has_sync_ids and full and wait["sync"]:
            args["cuda_event_sync_id"] = wait["sync"]
        device = tells.devices[wait["context"]]
        if wait.get("result") != NOT_READY:
            result.rows.append(row(wait, name, device, args))
            if wait["context"] in undescribed:
                result.unplaced[row(wait, name, 0, args)] = result.rows[-1]
        elif not tells.has_sync_ids and id_ in gone["runtime"] | gone["driver"]:
            result.untold |= {row(wait, name, device, args), row(wait, name, 0, args)}
    return result


def written(event: dict) -> tuple:
    """The same of a trace's row."""
    return (event["args"]["correlation"], event["name"], event["pid"], event["tid"], event["start"],
            event["end"], *sorted(event["args"].items()))

"""Computes from the simulator's truth which rows of waits (`cuda_sync`) a trace must have,
including the args that name the awaited stream or event."""
import dataclasses

# The name of a wait's row, by the truth's kind of wait. Waits of other kinds have no record.
KINDS = {"event_sync": "Event Sync", "event_query": "Event Sync", "stream_sync": "Stream Sync",
         "stream_query": "Stream Sync", "context_sync": "Context Sync", "device_sync": "Context Sync",
         "stream_wait": "Stream Wait Event"}
NONE = 0xffffffff  # stands for a missing stream or event
NOT_READY = 600
FIRST_SYNC_IDS = 26  # CUPTI 12.8: a wait's record names the event record, and contains a result
RECORD_ARGS = ("wait_on_stream", "wait_on_cuda_event_record_corr_id", "wait_on_context",
               "wait_on_context_stream", "wait_on_context_record_corr_id")


def name_of(line: dict) -> str | None:
    """Returns the name of the row that a line of the truth must have; None if the line has no row."""
    return KINDS.get({"wait": line.get("kind"), "follow": "stream_wait"}.get(line["t"]))


@dataclasses.dataclass
class Told:
    """What CUPTI has reported about contexts and event records. A wait's row can name only
    these."""
    devices: dict[int, int]  # by context
    records: list[dict]  # the lines of the truth about event records, without the lost records
    has_sync_ids: bool

    def record_of(self, wait: dict) -> dict | None:
        """Returns the event record that a wait's row must name. If event records have numbers, this is the
        record with the wait's number. Otherwise it is the last record in the context before the wait."""
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
    """Returns the args that name the awaited stream or event, as docs/trace-format.md describes them."""
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
    # row with device 0 -> the row with its true device
    unplaced: dict[tuple, tuple] = dataclasses.field(default_factory=dict)
    untold: set[tuple] = dataclasses.field(default_factory=set)  # rows that may be missing

    def settled(self, found: list[tuple]) -> list[tuple]:
        """Returns the rows of a trace for the comparison: rows on device 0 are put on their true
        device, and rows that may be missing are left out."""
        return [self.unplaced.get(each, each) for each in found if each not in self.untold]


def expected(truth: list[dict], lost: list[dict], version: int, full: bool) -> Expected:
    """Returns the rows of the truth without the lost rows. `version` is the version of CUPTI's interface;
    `full` means detail "full". If the description of a context was lost, its waits may be on device 0. A
    query that found unfinished work has no row. If neither the query's record nor its call's record contains
    the result, the query may have a row."""
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
    """Returns a row of a trace as a tuple like the result of row()."""
    return (event["args"]["correlation"], event["name"], event["pid"], event["tid"], event["start"],
            event["end"], *sorted(event["args"].items()))

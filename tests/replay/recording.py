"""Reads the simulated GPU's recording of a run (`tests/simgpu/run --record`). The recording has the
thread of each call, and the event record that each wait waited for. Correlation ids have 32 bits,
as in CUPTI."""
import pathlib

NEVER = 0  # sync_id of an event that was never recorded


def lines(path):
    """Yields (word, {field: number}) for each line, without names."""
    for line in pathlib.Path(path).read_text().splitlines()[1:]:
        word, *fields = line.partition(" name=")[0].split()
        if word in ("runtime", "driver", "sync", "event"):
            yield word, {key: int(value) for key, value in
                         (field.split("=") for field in fields)}


class Recording:
    def __init__(self, path):
        self.calls = {}  # ("cuda_runtime" or "cuda_driver", correlation) ->
        #             (thread, cbid, start, end)
        self.awaited = {}  # correlation of a wait for an event -> (context, stream, correlation) of
        #                    the call that had recorded the event
        events, waits = {}, {}
        for word, fields in lines(path):
            if word == "event":
                events[fields["sync_id"]] = tuple(
                    fields[key] for key in ("context", "stream", "corr"))
            elif word == "sync":
                waits[fields["corr"]] = fields.get("sync_id", NEVER)
            else:
                self.calls[f"cuda_{word}", fields["corr"]] = tuple(
                    fields[key] for key in ("tid", "cbid", "start", "end"))
        for wait, sync_id in waits.items():
            if sync_id in events:
                self.awaited[wait] = events[sync_id]

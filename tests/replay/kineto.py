#!/usr/bin/env python3
"""Converts a Kineto trace of a real GPU into a replay stream (README.md). The stream contains CUPTI
records from which the profiler could have made this trace.

    tests/replay/kineto.py TRACE [STREAM]

Some data is not in the trace. In the stream, the static shared memory of a kernel and the results
of calls are 0. Contexts and streams exist from the start. If a wait names the stream of its event,
the stream has a record of the event there. If a wait names no stream, its event is unknown, and
there is no such record."""
import decimal
import gzip
import json
import pathlib
import re
import sys

COPIES = {name: number for number, name in enumerate(
    ["", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"])}
MEMORY = {name: number for number, name in enumerate(
    ["Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
     "Managed Static"])}
SYNCS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
NO_STREAM = 0xffffffff
LEGACY_STREAM = 7
COPY = re.compile(r"Memcpy (\w+) \((.+) -> (.+)\)")
# The args that a row must have.
CALL = ("correlation", "cbid")
OPERATION = ("correlation", "device", "context", "stream")
NEEDED = {"cuda_runtime": CALL, "cuda_driver": CALL,
          "kernel": (*OPERATION, "grid", "block"), "gpu_memcpy": (*OPERATION, "bytes"),
          "gpu_memset": (*OPERATION, "bytes"), "cuda_sync": (*OPERATION, "cuda_sync_kind")}
# Groups of args. A row must have all args of a group, or none of them.
TOGETHER = (("fromDevice", "fromContext", "inDevice", "inContext", "toDevice", "toContext"),
            ("wait_on_context", "wait_on_context_stream", "wait_on_context_record_corr_id"))
# CUPTI's flags of a stream. A trace does not say which streams wait for the legacy stream.
STREAM_UNKNOWN, STREAM_NULL = 0, 3
# Blocks that a multiprocessor can hold, for compute capabilities where this is not 32.
BLOCKS = {(7, 5): 16, (8, 6): 16, (8, 7): 16, (8, 9): 24, (12, 0): 24}
UNKNOWN_GPU = {"name": "unknown", "computeMajor": 8, "computeMinor": 0, "numSms": 108,
               "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
               "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "sharedMemPerBlock": 49152,
               "sharedMemPerMultiprocessor": 167936, "totalGlobalMem": 42297524224}


class Unplayable(Exception):
    """Raised if a row lacks an arg that rows of its kind must have. The text names the row and the
    missing arg."""


def unpack(path):
    """Returns the bytes of a file, compressed or not."""
    data = pathlib.Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        import zstandard  # not in the standard library, so imported only for zstd files

        reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
        return reader.read()
    return data


def load(path):
    """Returns the trace with exact numbers. Raises ValueError if the file is no trace."""
    trace = json.loads(unpack(path), parse_float=decimal.Decimal)
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise ValueError("it has no traceEvents")
    return trace


def rows(trace, *categories):
    return [event for event in trace["traceEvents"]
            if event.get("ph") == "X" and event.get("cat") in categories]


def times(trace, event):
    """Returns start and end in ns since 1970."""
    base = trace.get("baseTimeNanoseconds", 0)
    start = base + round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def unsigned(number, bits=32):
    return number % (1 << bits)


def line(word, name=None, **fields):
    """Returns one line of the stream. Fields with the value 0 are left out."""
    text = word + "".join(f" {field}={value}" for field, value in fields.items() if value)
    if name is not None:
        text += " name=" + name.replace("\\", "\\\\").replace("\n", "\\n")
    return text


def fault(event):
    """Returns why a row cannot be played, or ""."""
    args = event.get("args", {})
    needed = NEEDED[event["cat"]]
    needed += next((names for names in TOGETHER if names[0] in args), ())
    missing = [*(name for name in ("name", "ts", "dur", "pid", "tid") if name not in event),
               *(f"args.{name}" for name in needed if name not in args)]
    if missing:
        return f"has no {missing[0]}"
    if event["cat"] == "cuda_sync" and args["cuda_sync_kind"] not in SYNCS:
        return f"has an unknown args.cuda_sync_kind, {args['cuda_sync_kind']!r}"
    if event["cat"] == "gpu_memcpy":
        match = COPY.fullmatch(event["name"])
        if not match or match[1] not in COPIES:
            return "has a name that does not say what was copied where"
    return ""


def awaited(args):
    """Returns the context and stream in which a wait's event was recorded, and the recording call (0 if not
    stated). Returns None if the row does not name them. syncline's rows name the stream and the call in three
    ways (docs/trace-format.md). libkineto writes -1 for unknown."""
    if "wait_on_context" in args:
        return (args["wait_on_context"], unsigned(args["wait_on_context_stream"]),
                args["wait_on_context_record_corr_id"])
    stream = unsigned(args.get("wait_on_stream", NO_STREAM))
    if stream == NO_STREAM:
        return None
    return args["context"], stream, max(args.get("wait_on_cuda_event_record_corr_id", 0), 0)


class Converter:
    def __init__(self, trace):
        self.trace = trace
        self.records = []  # (time of the record, order among records of the same time, line)
        self.calls = {}  # correlation id -> (row of the call, its start, its end)
        self.recorded = {}  # (result of awaited(), event) -> sync id of the event's record
        for event in rows(trace, *NEEDED):
            wrong = fault(event)
            if wrong:
                raise Unplayable(f"the {event['cat']} row {event.get('name')!r} at ts "
                                 f"{event.get('ts')} {wrong}")
        self.sync_ids = max((event["args"].get("cuda_event_sync_id", 0)
                             for event in rows(trace, "cuda_sync")), default=0)
        self.used = {event["args"].get("correlation") for event in self.gpu_rows()}
        for event in rows(trace, "cuda_runtime", "cuda_driver"):
            self.calls[event["args"]["correlation"]] = (event, *times(trace, event))
        self.used |= self.calls.keys()

    def place(self, event):
        """Returns the time at which CUPTI makes the row's record, and the thread on which it does so. If the
        trace has the row's call, these are the end and the thread of the call."""
        call = self.calls.get(event["args"].get("correlation"))
        if not call:
            return {"at": times(self.trace, event)[1]}
        return {"at": call[2], "pid": call[0]["pid"], "tid": unsigned(call[0]["tid"])}

    def add(self, order, text, at):
        self.records.append((at, order, len(self.records), text))

    def add_call(self, event):
        args = event["args"]
        start, end = times(self.trace, event)
        word = "runtime" if event["cat"] == "cuda_runtime" else "driver"
        self.add(3, line(word, at=end, pid=event["pid"], tid=unsigned(event["tid"]),
                         corr=args["correlation"], cbid=args["cbid"], start=start, end=end), end)

    def add_operation(self, event):
        args = event["args"]
        start, end = times(self.trace, event)
        place = self.place(event)
        fields = {**place, "corr": args["correlation"], "start": start, "end": end,
                  "device": args["device"], "context": args["context"],
                  "stream": unsigned(args["stream"]), "graph": args.get("graph id", 0),
                  "node": args.get("graph node id", 0)}
        if event["cat"] == "kernel":
            text = line("kernel", event["name"], **fields,
                        grid=",".join(map(str, args["grid"])),
                        block=",".join(map(str, args["block"])),
                        regs=args.get("registers per thread", 0),
                        dynamic=args.get("shared memory", 0), queued=args.get("queued", 0),
                        priority=args.get("priority", 0))
        elif event["cat"] == "gpu_memset":
            memory = event["name"].removeprefix("Memset (").removesuffix(")")
            text = line("memset", **fields, bytes=args["bytes"], memory=MEMORY.get(memory, 0))
        else:
            kind, source, target = COPY.fullmatch(event["name"]).groups()
            peer = {}
            if "fromDevice" in args:
                fields["device"], fields["context"] = args["inDevice"], args["inContext"]
                peer = {"from": f"{args['fromDevice']},{args['fromContext']}",
                        "to": f"{args['toDevice']},{args['toContext']}"}
            text = line("memcpy", **fields, **peer, bytes=args["bytes"], kind=COPIES[kind],
                        src=MEMORY.get(source, 0),
                        dst=MEMORY.get(target, 0))
        self.add(0, text, place["at"])

    def unused_before(self, correlation):
        """Returns an unused correlation id below this one, for a call that the trace lacks."""
        free = next((c for c in range(correlation - 1, 0, -1) if c not in self.used),
                    max(self.used) + 1)
        self.used.add(free)
        return free

    def sync_id_of(self, args):
        """Returns the sync id of the event record that the row names. If the row names none,
        returns a new sync id."""
        if "cuda_event_sync_id" in args:
            return args["cuda_event_sync_id"]
        self.sync_ids += 1
        return self.sync_ids

    def event_of(self, args, place):
        """Returns the sync id that connects a wait with the record of its event. If the row names
        the stream on which the event was recorded, and there is no such record yet, adds the
        record."""
        known, event = awaited(args), args.get("wait_on_cuda_event_id", NO_STREAM)
        if (known, event) in self.recorded:
            return self.recorded[known, event]
        sync_id = self.sync_id_of(args)
        if not known:
            return sync_id
        context, stream, call = known
        if call:
            self.recorded[known, event] = sync_id
        else:
            call = self.unused_before(args["correlation"])
        record = self.calls.get(call)
        at = record[2] if record else place["at"] - 1
        thread = {"pid": record[0]["pid"], "tid": unsigned(record[0]["tid"])} if record else {}
        self.add(1, line("event", at=at, **thread, corr=call, context=context, stream=stream,
                         event=event, sync_id=sync_id), at)
        return sync_id

    def add_sync(self, event):
        args = event["args"]
        start, end = times(self.trace, event)
        place = self.place(event)
        kind = args["cuda_sync_kind"]
        fields = {**place, "corr": args["correlation"], "type": SYNCS[kind], "start": start,
                  "end": end, "context": args["context"], "stream": unsigned(args["stream"]),
                  "event": NO_STREAM, "sync_id": NO_STREAM}
        if "wait_on_cuda_event_id" in args or awaited(args):
            fields["event"] = args.get("wait_on_cuda_event_id", NO_STREAM)
            fields["sync_id"] = self.event_of(args, place)
        self.add(2, line("sync", **fields), place["at"])

    def devices(self):
        known = {facts["id"]: facts for facts in self.trace.get("deviceProperties", [])}
        used = {event["args"]["device"] for event in self.gpu_rows()}
        for device in range(max(known.keys() | used, default=0) + 1):
            d = known.get(device, UNKNOWN_GPU)
            version = (d["computeMajor"], d["computeMinor"])
            yield line(
                "device", d["name"], device=device, capability=f"{version[0]},{version[1]}",
                sms=d["numSms"], warp=d["warpSize"],
                threads=f"{d['maxThreadsPerBlock']},{d['maxThreadsPerMultiprocessor']}",
                blocks=BLOCKS.get(version, 32),
                registers=f"{d['regsPerBlock']},{d['regsPerMultiprocessor']}",
                shared=f"{d['sharedMemPerBlock']},{d['sharedMemPerMultiprocessor']}",
                bytes=d["totalGlobalMem"])

    def gpu_rows(self):
        return rows(self.trace, "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync")

    def objects(self):
        """Yields the contexts and streams. The thread with the first call creates these objects before all
        other records."""
        maker = min(self.calls.values(), key=lambda call: call[1:], default=None)
        thread = {"pid": maker[0]["pid"], "tid": unsigned(maker[0]["tid"])} if maker else {}
        contexts, streams = {}, {}
        for event in self.gpu_rows():
            args = event["args"]
            contexts[args["context"]] = args["device"]
            for context, stream in ((args["context"], unsigned(args["stream"])),
                                    (awaited(args) or (0, NO_STREAM))[:2]):
                if stream != NO_STREAM:
                    key = context, stream
                    streams[key] = args.get("priority", streams.get(key, 0))
        for context, device in sorted(contexts.items()):
            yield line("context", **thread, device=device, context=context,
                       null_stream=LEGACY_STREAM)
        for (context, stream), priority in sorted(streams.items()):
            if context not in contexts:
                continue  # a stream of an unknown device
            yield line("stream", **thread, context=context, stream=stream, priority=priority,
                       flags=STREAM_NULL if stream == LEGACY_STREAM else STREAM_UNKNOWN)

    def lines(self):
        for event in rows(self.trace, "cuda_runtime", "cuda_driver"):
            self.add_call(event)
        for event in rows(self.trace, "kernel", "gpu_memcpy", "gpu_memset"):
            self.add_operation(event)
        for event in rows(self.trace, "cuda_sync"):
            self.add_sync(event)
        yield "syncline-replay 1"
        yield from self.devices()
        yield from self.objects()
        yield from (record[-1] for record in sorted(self.records))


def convert(trace):
    """Returns the text of the stream."""
    return "\n".join(Converter(trace).lines()) + "\n"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    text = convert(load(sys.argv[1]))
    if len(sys.argv) == 3:
        pathlib.Path(sys.argv[2]).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()

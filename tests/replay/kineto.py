#!/usr/bin/env python3
"""A real Kineto trace, turned into a replay stream (README.md): the CUPTI records that such a trace
was made of.

    tests/replay/kineto.py TRACE [STREAM]

What a trace does not say is left at 0 (which part of a kernel's shared memory is static; what a
call returned), or follows from what it does say: contexts and streams exist from the start, and a
wait for an event that names the call that recorded it had a record of that event.
"""
import decimal
import gzip
import json
import pathlib
import sys

COPIES = {name: number for number, name in enumerate(
    ["", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"])}
MEMORY = {name: number for number, name in enumerate(
    ["Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
     "Managed Static"])}
SYNCS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
NO_STREAM = 0xffffffff
LEGACY_STREAM = 7
# CUPTI's flags of a stream: a trace does not say which streams wait for the legacy one
STREAM_UNKNOWN, STREAM_NULL = 0, 3
# Blocks that a multiprocessor holds, where a compute capability has other than 32.
BLOCKS = {(7, 5): 16, (8, 6): 16, (8, 7): 16, (8, 9): 24, (12, 0): 24}
UNKNOWN_GPU = {"name": "unknown", "computeMajor": 8, "computeMinor": 0, "numSms": 108,
               "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
               "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "sharedMemPerBlock": 49152,
               "sharedMemPerMultiprocessor": 167936, "totalGlobalMem": 42297524224}


def unpack(path):
    """The bytes of a file, compressed or not."""
    data = pathlib.Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        import zstandard  # not in the standard library: only who reads these files needs it

        reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
        return reader.read()
    return data


def load(path):
    """The trace, its numbers exact."""
    return json.loads(unpack(path), parse_float=decimal.Decimal)


def rows(trace, *categories):
    return [event for event in trace["traceEvents"]
            if event.get("ph") == "X" and event.get("cat") in categories]


def times(trace, event):
    """Start and end in ns since 1970."""
    base = trace.get("baseTimeNanoseconds", 0)
    start = base + round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def unsigned(number, bits=32):
    return number % (1 << bits)


def line(word, name=None, **fields):
    """One line; fields that are 0 are left out."""
    text = word + "".join(f" {field}={value}" for field, value in fields.items() if value)
    if name is not None:
        text += " name=" + name.replace("\\", "\\\\").replace("\n", "\\n")
    return text


class Converter:
    def __init__(self, trace):
        self.trace = trace
        self.records = []  # (when the record takes its place, what comes first then, line)
        self.calls = {}  # correlation -> the call's row, its start and end
        self.recorded = {}  # correlation of an event's record -> its sync id
        self.used = {event["args"].get("correlation") for event in self.gpu_rows()}
        for event in rows(trace, "cuda_runtime", "cuda_driver"):
            self.calls[event["args"]["correlation"]] = (event, *times(trace, event))
        self.used |= self.calls.keys()

    def place(self, event):
        """When a row's record takes its place, and on which thread: the call's, if it is there."""
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
            _, kind, source, _, target = event["name"].split(maxsplit=4)
            peer = {}
            if "fromDevice" in args:
                fields["device"], fields["context"] = args["inDevice"], args["inContext"]
                peer = {"from": f"{args['fromDevice']},{args['fromContext']}",
                        "to": f"{args['toDevice']},{args['toContext']}"}
            text = line("memcpy", **fields, **peer, bytes=args["bytes"], kind=COPIES[kind],
                        src=MEMORY.get(source.lstrip("("), 0),
                        dst=MEMORY.get(target.rstrip(")"), 0))
        self.add(0, text, place["at"])

    def unused_before(self, correlation):
        """The id that a call before this one may have had: no row has it."""
        free = next((c for c in range(correlation - 1, 0, -1) if c not in self.used),
                    max(self.used) + 1)
        self.used.add(free)
        return free

    def event_of(self, args, place):
        """The id that ties a wait to its event's record; makes that record if there is none."""
        call = args.get("wait_on_cuda_event_record_corr_id", 0)
        if call in self.recorded:
            return self.recorded[call]
        sync_id = len(self.records) + 1
        if call > 0:
            self.recorded[call] = sync_id
        else:
            call = self.unused_before(args["correlation"])
        record = self.calls.get(call)
        at = record[2] if record else place["at"] - 1
        thread = {"pid": record[0]["pid"], "tid": unsigned(record[0]["tid"])} if record else {}
        self.add(1, line("event", at=at, **thread, corr=call, context=args["context"],
                         stream=unsigned(args["wait_on_stream"]),
                         event=args["wait_on_cuda_event_id"], sync_id=sync_id), at)
        return sync_id

    def add_sync(self, event):
        args = event["args"]
        start, end = times(self.trace, event)
        place = self.place(event)
        kind = args["cuda_sync_kind"]
        fields = {**place, "corr": args["correlation"], "type": SYNCS[kind], "start": start,
                  "end": end, "context": args["context"], "stream": unsigned(args["stream"]),
                  "event": NO_STREAM, "sync_id": NO_STREAM}
        if "wait_on_cuda_event_id" in args:
            fields["event"] = args["wait_on_cuda_event_id"]
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
        """Made by the thread that is the first to call, before anything else."""
        maker = min(self.calls.values(), key=lambda call: call[1:], default=None)
        thread = {"pid": maker[0]["pid"], "tid": unsigned(maker[0]["tid"])} if maker else {}
        contexts, streams = {}, {}
        for event in self.gpu_rows():
            args = event["args"]
            contexts[args["context"]] = args["device"]
            for stream in (args.get("stream", -1), args.get("wait_on_stream", -1)):
                if stream >= 0:
                    key = args["context"], stream
                    streams[key] = args.get("priority", streams.get(key, 0))
        for context, device in sorted(contexts.items()):
            yield line("context", **thread, device=device, context=context,
                       null_stream=LEGACY_STREAM)
        for (context, stream), priority in sorted(streams.items()):
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
    """The text of the stream."""
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

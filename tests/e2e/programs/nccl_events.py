"""Plays events of NCCL's profiler, as a real NCCL sent them (tests/replay/h200/nccl-*.jsonl.gz), to syncline's
plugin: in the same order, on as many threads. Each KernelLaunch launches a kernel of the simulated GPU. A captured one
is launched into a graph, which is replayed before each of NCCL's events about a replay. Argument: the recording.

Prints for each kernel, as JSON lines in the order of the launches, the numbers of the calls that it runs; the kernels
of replays come last, replay by replay."""
import ctypes
import gzip
import json
import queue
import struct
import sys
import threading
import time

import os

P = ctypes.c_void_p
TYPES = {"Group": 1, "Coll": 2, "P2p": 4, "ProxyOp": 8, "ProxyStep": 16, "ProxyCtrl": 32, "KernelCh": 64,
         "GroupApi": 256, "CollApi": 512, "P2pApi": 1024, "KernelLaunch": 2048}
cuda, cublas = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcublas.so.13")
INIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(P), ctypes.c_uint64, P, ctypes.c_char_p, ctypes.c_int,
                        ctypes.c_int, ctypes.c_int, P)
START = ctypes.CFUNCTYPE(ctypes.c_int, P, ctypes.POINTER(P), P)
STATE = ctypes.CFUNCTYPE(ctypes.c_int, P, ctypes.c_int, P)
ONE = ctypes.CFUNCTYPE(ctypes.c_int, P)


class Table(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("init", INIT), ("start", START), ("stop", ONE), ("state", STATE),
                ("finalize", ONE)]


def check(result):
    assert result == 0, result


class Gpu:
    """Launches kernels, directly or into a graph."""

    def __init__(self):
        self.blas, self.stream, self.side = P(), P(), P()
        self.memory, self.graph = P(), None
        check(cuda.cudaMalloc(ctypes.byref(self.memory), ctypes.c_size_t(1 << 20)))
        for stream in (self.stream, self.side):
            check(cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))
        check(cublas.cublasCreate_v2(ctypes.byref(self.blas)))
        self.is_capturing = False

    def launch(self, is_captured):
        one = ctypes.c_float(1)
        check(cublas.cublasSetStream_v2(self.blas, self.side if is_captured else self.stream))
        check(cublas.cublasSgemm_v2(self.blas, 0, 0, 8, 8, 8, ctypes.byref(one), self.memory, 8, self.memory, 8,
                                    ctypes.byref(one), self.memory, 8))

    def capture(self):
        if not self.is_capturing:
            check(cuda.cudaStreamBeginCapture(self.side, 2))
        self.is_capturing = True

    def replay(self):
        if self.is_capturing:
            graph, self.graph = P(), P()
            check(cuda.cudaStreamEndCapture(self.side, ctypes.byref(graph)))
            check(cuda.cudaGraphInstantiate(ctypes.byref(self.graph), graph, ctypes.c_uint64(0)))
            self.is_capturing = False
        check(cuda.cudaGraphLaunch(self.graph, self.stream))
        check(cuda.cudaStreamSynchronize(self.stream))


class Thread:
    """Makes calls on a thread of its own, one after the other."""

    def __init__(self):
        self.calls, self.done = queue.Queue(), queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            call = self.calls.get()
            try:
                self.done.put((call(), None))
            except BaseException as failed:  # pylint: disable=broad-exception-caught
                self.done.put((None, failed))

    def __call__(self, call):
        self.calls.put(call)
        result, failed = self.done.get()
        if failed:
            raise failed
        return result


class Player:
    def __init__(self):
        library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
        self.table = Table.in_dll(library, "ncclProfiler_v5")
        self.gpu, self.mask, self.texts = Gpu(), ctypes.c_int(0), {}
        self.contexts, self.handles, self.kinds, self.parent = [], {0: None}, {}, {}
        self.launches, self.captured, self.replays = [], [], []

    def text(self, text):
        return ctypes.addressof(self.texts.setdefault(text, ctypes.create_string_buffer(text.encode())))

    def descriptor(self, kind, parent, d):
        """Returns NCCL's struct, by offsets (versions 5 and 6)."""
        fields = [(0, "Q", TYPES[kind]), (8, "Q", self.handles[parent] or 0)]
        if kind == "GroupApi":
            fields += [(24, "B", d["captured"]), (28, "i", d["depth"])]
        elif kind in ("CollApi", "P2pApi"):
            fields += [(24, "Q", self.text(d["func"])), (32, "Q", d["count"]), (40, "Q", self.text(d["dtype"]))]
            fields += [(48, "i", d["root"]), (64, "B", d["captured"])] if kind == "CollApi" else \
                [(56, "B", d["captured"])]
        elif kind == "Coll":
            fields += [(24, "Q", d["number"]), (32, "Q", self.text(d["func"])), (56, "Q", d["count"]),
                       (64, "i", d["root"]), (72, "Q", self.text(d["dtype"])), (80, "B", d["channels"]),
                       (81, "B", d["warps"]), (88, "Q", self.text(d["algo"])), (96, "Q", self.text(d["proto"]))]
        elif kind == "P2p":
            fields += [(24, "Q", self.text(d["func"])), (40, "Q", self.text(d["dtype"])), (48, "Q", d["count"]),
                       (56, "i", d["peer"]), (60, "B", d["channels"])]
        elif kind == "ProxyOp":
            fields += [(28, "B", d["channel"]), (32, "i", d["peer"]), (36, "i", d["steps"]), (40, "i", d["chunk"]),
                       (44, "i", d["send"])]
        elif kind == "ProxyStep":
            fields += [(24, "i", d["step"])]
        elif kind == "KernelCh":
            fields += [(24, "B", d["channel"]), (32, "Q", time.time_ns())]
        raw = ctypes.create_string_buffer(136)
        for at, code, value in fields:
            struct.pack_into("<" + code, raw, at, value)
        return raw

    def start(self, number, parent, comm, kind, d):
        handle = P()
        is_captured = kind == "KernelLaunch" and self.kinds[parent][1]["captured"]
        check(self.table.start(self.contexts[comm], ctypes.byref(handle), self.descriptor(kind, parent, d)))
        self.handles[number], self.kinds[number], self.parent[number] = handle.value, (kind, d), parent
        if kind == "KernelLaunch":
            self.gpu.launch(is_captured)
            (self.captured if is_captured else self.launches).append((number, []))

    def note(self, number, parent):
        """Notes which kernel runs the collective or message. One that comes after its group is in a replay."""
        for launches in (self.launches, self.captured):
            for launch, calls in reversed(launches):
                if self.parent[launch] == self.parent[parent]:
                    calls.append(parent) if parent not in calls else None
                    return

    def play(self, events):
        threads, seen = {}, 0
        for _, thread, what, *rest in events:
            do = threads.setdefault(thread, Thread())
            if what == "init":
                context = P()
                check(do(lambda: self.table.init(ctypes.byref(context), rest[0], ctypes.addressof(self.mask), None,
                                                 *rest[1:], None)))
                self.contexts.append(context)
            elif what == "finalize":
                check(do(lambda: self.table.finalize(self.contexts[0])))
                del self.contexts[0]
            elif what == "stop":
                check(do(lambda: self.table.stop(self.handles[rest[0]])))
            elif what == "state":
                # the GPU's global timer is the time of the recording, so the time of the player replaces it
                value = ctypes.c_uint64(time.time_ns() if rest[1] == 22 else rest[2] if len(rest) > 2 else 0)
                check(do(lambda: self.table.state(self.handles[rest[0]], rest[1], ctypes.byref(value))))
            else:
                number, parent, comm, kind, d = rest
                if kind == "GroupApi" and d["captured"]:
                    self.gpu.capture()
                if kind == "Coll" and self.kinds[parent][1]["captured"]:
                    if seen % len(self.captured) == 0:
                        do(self.gpu.replay)
                        self.replays.append([])
                    seen += 1
                    self.replays[-1].append(parent)
                do(lambda: self.start(number, parent, comm, kind, d))
                if kind in ("Coll", "P2p"):
                    self.note(number, parent)


def main():
    player = Player()
    with gzip.open(sys.argv[1], "rt") as file:
        player.play(json.loads(line) for line in file)
    check(cuda.cudaDeviceSynchronize())
    for _, calls in player.launches:
        print(json.dumps(calls))
    for replay in player.replays:
        for call in replay:
            print(json.dumps([call]))


main()

"""Generates random but legal CUDA programs as steps for programs/random_waits. Also chooses faults
for each run, such as lost records or failing calls. A seed always gives the same program and the
same faults. Only the times differ between runs."""
import dataclasses
import random

VERSIONS = ["12.0", "12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.8", "12.9", "13.0", "13.1",
            "13.2", "13.3", "13.4", "13.5"]
DEVICES = 2

# Functions that may be made to fail. The errors are 1 (invalid argument), 2 (out of memory) and 700 (which
# ends the context).
FAILING = ["cuLaunchKernel", "cuMemcpy", "cuMemcpyAsync", "cuMemsetD8Async", "cuEventRecord",
           "cuStreamWaitEvent", "cuEventSynchronize", "cuEventQuery", "cuStreamSynchronize",
           "cuStreamQuery", "cuCtxSynchronize", "cuGraphLaunch", "cuMemFree_v2", "cuMemFreeAsync",
           "cudaMemcpyAsync", "cudaEventRecord", "cudaStreamWaitEvent", "cudaStreamSynchronize",
           "cudaDeviceSynchronize", "cudaMemcpy", "cuModuleUnload", "cudaLibraryUnload", "cudaMemset"]
ERRORS = [1, 2, 700]
# Functions of CUPTI that may be made to fail. The number says up to which call of the function a
# failure may be placed.
FAILING_CUPTI = {"cuptiActivityFlushAll": 8, "cuptiActivityEnableDriverApi": 60,
                 "cuptiActivityEnableRuntimeApi": 60}


@dataclasses.dataclass
class Program:
    steps: list[str]
    sim: list[str]  # options of tests/simgpu/run
    syncline: dict[str, str]  # options of syncline

    def text(self) -> str:
        return "".join(step + "\n" for step in self.steps)


class Thread:
    """The objects that one thread may use: objects in the thread's own slots, and objects in the
    slots of all threads."""

    def __init__(self, g: "Generator", number: int):
        self.g, self.r, self.number = g, g.random, number
        self.context = 0
        self.streams = {}  # slot -> (context, non-blocking)
        self.events = {}  # slot -> context
        self.memory = {}  # slot -> (pinned, context)
        self.graphs = {}  # slot -> (context, stream)
        self.modules = {}  # slot -> context
        first = 8 + 12 * number if number < 4 else 56
        self.slots = range(first, min(first + 12, 64))

    def step(self, verb, *args):
        self.g.steps.append(" ".join(map(str, [self.number, verb, *args])))

    def free_slot(self, used):
        return next((slot for slot in self.slots if slot not in used), None)

    def api(self):
        return self.r.choice([0, 0, 1])

    def my_streams(self, capture=False):
        """Returns the streams on which this thread may enqueue now."""
        known = {**self.g.shared_streams, **self.streams}
        found = [s for s, (context, _) in known.items() if context == self.context]
        if capture:
            return [s for s in self.streams if self.streams[s] == (self.context, 1)]
        return found + self.g.defaults

    def stream(self):
        return self.r.choice(self.my_streams() or [0])

    def any_stream(self):
        return self.r.choice([*self.g.shared_streams, *self.streams, *self.g.defaults] or [0])

    def my_events(self):
        known = {**self.g.shared_events, **self.events}
        return [e for e, context in known.items() if context == self.context]

    def any_event(self):
        return self.r.choice([*self.g.shared_events, *self.events] or [0])

    # ---- methods that add steps to the program ----

    def work(self, stream=None):
        stream = self.stream() if stream is None else stream
        what = self.r.random()
        if what < 0.75:
            self.step("kernel", stream, self.r.choice([1, 5, 20, 20, 60, 150]))
        elif what < 0.9:
            self.step("copy", stream, self.r.choice([0, 1, 2, 3, 4]), self.r.randint(0, 1), 1,
                      self.r.choice([4, 64, 400]), self.api())
        else:
            self.step("set", stream, 1, self.r.choice([4, 512]), self.api(),
                      int(self.r.random() < 0.2))

    def blocking(self):
        """Adds a blocking copy or memset. The call uses a block of host memory that all blocking
        calls use."""
        if self.r.random() < 0.6:
            self.step("copy", 0, self.r.choice([0, 0, 1, 1, 2, 4]), self.r.randint(0, 1), 0,
                      self.r.choice([4, 64, 400]), self.api())
        else:
            self.step("set", 0, 0, self.r.choice([4, 512]), self.api(), self.r.choice([0, 1, 1]))

    def free(self):
        """Adds a free of memory, usually while an operation is running."""
        slot = next(iter(self.memory), None)
        if slot is None:
            slot = self.slots[0]
            self.memory[slot] = (self.r.randint(0, 1), self.context)
            self.step("alloc", slot, self.memory[slot][0], self.api())
        if self.r.random() < 0.8:
            self.work()
        del self.memory[slot]
        self.step("free", slot, self.api())

    def unload(self):
        """Adds an unload of a module, usually while an operation is running."""
        slot = next(iter(self.modules), None)
        if slot is None or self.modules[slot] != self.context:
            if (slot := self.free_slot(self.modules)) is None:
                return
            self.modules[slot] = self.context
            self.step("module", slot, self.r.choice([0, 0, 1, 2]))
        if self.r.random() < 0.8:
            self.work()
        if self.r.random() < 0.6:
            self.step("first", slot, self.stream(), self.r.choice([5, 60]))
        if self.r.random() < 0.9:
            del self.modules[slot]
            self.step("unload", slot)

    def load(self):
        """Adds the first launch of a module, usually while an operation is running."""
        if (slot := self.free_slot(self.modules)) is not None:
            self.modules[slot] = self.context
            self.step("module", slot, 0)
            self.work()
            self.step("first", slot, self.stream(), self.r.choice([5, 60]))

    def reset(self):
        """Adds a reset of the device or the end of a context, if the program has only one thread. Forgets all
        objects of that context."""
        gone = self.context
        if len(self.g.threads) > 1:
            return self.unload()
        self.step("reset", gone, self.r.randint(0, 1))
        for held in (self.g.shared_streams, self.streams, self.graphs):
            for slot in [slot for slot, about in held.items() if about[0] == gone]:
                del held[slot]
        for held in (self.g.shared_events, self.events, self.modules):
            for slot in [slot for slot, context in held.items() if context == gone]:
                del held[slot]
        for slot in [slot for slot, (pinned, context) in self.memory.items()
                     if context == gone and not pinned]:
            del self.memory[slot]
        if gone >= 4:
            self.step("context", gone, 0)
        return self.enter(gone)

    def chain(self):
        """Adds event records and stream waits with no launch between them."""
        for _ in range(self.r.randint(1, 3)):
            events = self.my_events()
            if not events:
                return
            event = self.r.choice(events)
            self.step("record", event, self.stream(), self.api())
            self.step("wait", self.any_stream(), event, self.api())
        if self.r.random() < 0.5:
            self.step("ssync", self.any_stream(), self.api())

    def record(self):
        if events := self.my_events():
            self.step("record", self.r.choice(events), self.stream(), self.api())

    def objects(self):
        what = self.r.randrange(6)
        if what == 0 and (slot := self.free_slot(self.streams)) is not None:
            self.streams[slot] = (self.context, self.r.randint(0, 1))
            self.step("stream", slot, self.streams[slot][1])
        elif what == 1 and self.streams:
            slot = self.r.choice(list(self.streams))
            del self.streams[slot]
            self.step("unstream", slot)
        elif what == 2 and (slot := self.free_slot(self.events)) is not None:
            self.events[slot] = self.context
            self.step("event", slot)
        elif what == 3 and self.events:
            slot = self.r.choice(list(self.events))
            del self.events[slot]
            self.step("unevent", slot)
        elif what == 4 and (slot := self.free_slot(self.memory)) is not None:
            self.memory[slot] = (self.r.randint(0, 1), self.context)
            self.step("alloc", slot, self.memory[slot][0], self.api())
        elif what == 5 and self.memory:
            slot = self.r.choice(list(self.memory))
            del self.memory[slot]
            self.step("free", slot, self.api())

    def pool(self):
        if (slot := self.free_slot(self.memory)) is not None:
            stream = self.stream()
            self.step("allocasync", slot, stream)
            self.work(stream)
            self.step("freeasync", slot, stream)

    def graph(self):
        """Adds a graph that is captured on one stream, perhaps with a second stream that joins the capture,
        and is launched twice."""
        slot, streams = self.free_slot(self.graphs), self.my_streams(capture=True)
        events = [e for e, context in self.events.items() if context == self.context]
        if slot is None or not streams:
            return
        origin = self.r.choice(streams)
        others = [s for s in streams if s != origin]
        self.step("begin", origin)
        self.work_captured(origin)
        if others and len(events) > 1 and self.r.random() < 0.6:
            side = self.r.choice(others)
            fork, join = self.r.sample(events, 2)
            self.step("record", fork, origin, 0)
            self.step("wait", side, fork, 0)
            for _ in range(self.r.randint(1, 3)):
                self.work_captured(self.r.choice([origin, side]))
            self.work_captured(side)
            self.step("record", join, side, 0)
            self.step("wait", origin, join, 0)
            if self.r.random() < 0.7:
                self.work_captured(origin)
        self.step("end", origin, slot)
        self.graphs[slot] = (self.context, self.stream())

    def work_captured(self, stream):
        if self.r.random() < 0.8:
            self.step("kernel", stream, self.r.choice([5, 20, 60]))
        else:
            self.step("set", stream, 1, 4, 0)

    def launch(self):
        mine = [g for g, (context, _) in self.graphs.items() if context == self.context]
        if not mine:
            return self.graph()
        slot = self.r.choice(mine)
        stream = self.graphs[slot][1] if self.r.random() < 0.7 else self.stream()
        if stream in self.my_streams():
            self.step("launch", slot, stream, self.api())
        return None

    def wait(self):
        what = self.r.randrange(13)
        if what < 3:
            self.step("ssync", self.any_stream(), self.api())
        elif what < 5:
            self.step("esync", self.any_event(), self.api())
        elif what < 6:
            self.step("squery", self.any_stream(), self.api())
        elif what < 7:
            self.step("equery", self.any_event(), self.api())
        elif what < 9:
            self.step("csync", self.r.randint(0, 1))
        elif what < 11:
            self.blocking()
        elif what < 12:
            self.free()
        else:
            (self.reset if self.r.random() < 0.15 else self.unload)()

    def one(self):
        what = self.r.random()
        if what < 0.42:
            self.work()
        elif what < 0.50:
            self.record()
        elif what < 0.58:
            self.step("wait", self.any_stream(), self.any_event(), self.api())
        elif what < 0.66:
            self.chain()
        elif what < 0.84:
            self.wait()
        elif what < 0.91:
            self.objects()
        elif what < 0.93:
            (self.pool if self.r.random() < 0.5 else self.load)()
        elif what < 0.96:
            (self.launch if self.g.graphs else self.work)()
        elif what < 0.97:
            self.step("sleep", self.r.choice([20, 100, 400]))
        elif what < 0.98:
            self.step("bad", self.r.randrange(5), self.api())
        elif len(self.g.contexts) > 1:
            self.enter(self.r.choice(self.g.contexts))
        else:
            self.wait()

    def enter(self, context):
        self.context = context
        self.step("use", context)


class Generator:
    def __init__(self, seed: int):
        self.random = r = random.Random(seed)
        self.steps: list[str] = []
        self.contexts = r.choice([[0], [0], [0, 1], [0, 4], [0, 1, 4]])
        self.graphs = r.random() < 0.5
        # A third of the programs avoids the legacy stream, and a third avoids per-thread default streams.
        self.defaults = [s for s in (0, 1) if r.random() < 0.67]
        self.shared_streams: dict[int, tuple[int, int]] = {}
        self.shared_events: dict[int, int] = {}
        self.threads = [Thread(self, n) for n in range(r.choice([1, 1, 1, 2, 2, 3]))]
        self.windows = r.random() < 0.3

    def prepare(self):
        r, first = self.random, self.threads[0]
        for context in self.contexts:
            if context >= 4:
                first.step("context", context, 0)
            first.enter(context)
            for _ in range(r.randint(0, 2)):
                slot = 2 + len(self.shared_streams)
                if len(self.threads) == 1 or r.random() < 0.5:
                    self.shared_streams[slot] = (context, r.randint(0, 1))
                    first.step("stream", slot, self.shared_streams[slot][1])
            if len(self.threads) == 1 or r.random() < 0.5:
                slot = len(self.shared_events)
                self.shared_events[slot] = context
                first.step("event", slot)
        self.steps.append("* meet")
        for thread in self.threads:
            thread.enter(r.choice(self.contexts))
            for _ in range(r.randint(1, 4)):
                slot = thread.free_slot(thread.streams)
                thread.streams[slot] = (thread.context, r.randint(0, 1))
                thread.step("stream", slot, thread.streams[slot][1])
            for _ in range(r.randint(1, 3)):
                slot = thread.free_slot(thread.events)
                thread.events[slot] = thread.context
                thread.step("event", slot)

    def body(self):
        r = self.random
        count = r.randint(20, 120)
        windows = sorted(r.sample(range(count), 2 * r.randint(1, 2))) if self.windows else []
        for i in range(count):
            if i in windows:
                self.threads[0].step("start" if windows.index(i) % 2 == 0 else "stop")
            r.choice(self.threads).one()
            if len(self.threads) > 1 and r.random() < 0.03:
                self.steps.append("* meet")

    def end(self):
        r = self.random
        self.steps.append("* meet")
        for context in self.contexts:
            self.threads[0].enter(context)
            self.threads[0].step("csync", r.randint(0, 1))
        if r.random() < 0.2:
            self.threads[0].step("reset", 0, r.randint(0, 1))
            self.threads[0].enter(0)
            self.threads[0].step("kernel", 0, 20)
            self.threads[0].step("csync", 1)

    def trouble(self) -> list[str]:
        r = self.random
        sim = ["--devices", str(DEVICES), "--cupti", r.choice(VERSIONS), "--seed", str(r.randrange(10**6))]
        if r.random() < 0.5:
            sim.append("--cupti-shuffle")
        if r.random() < 0.3:
            sim += ["--cupti-late", r.choice(["0.001", "0.01"])]
        # Correlation ids wrap around at 2^32. This is only done if no record is late, because
        # syncline takes the start of the ids from the first records.
        if len(self.threads) == 1 and len(sim) == 6 and r.random() < 0.6:
            sim += ["--correlation-start", str(2**32 - r.randint(20, 200))]
        if r.random() < 0.2:
            sim.append("--nested-driver")
        if r.random() < 0.2:
            sim += ["--cupti-per-thread-buffers", r.choice("01")]
        if r.random() < 0.5:
            sim += ["--queue-depth", r.choice(["1", "2", "4", "16"])]
        if r.random() < 0.5:
            sim.append("--module-load")
        return sim + self.losses() + self.failures()

    def losses(self) -> list[str]:
        """Returns simulator options that make records get lost, lack their times, or be delivered
        twice."""
        r = self.random
        what = r.random()
        if what < 0.08:
            return ["--cupti-drop", r.choice(["0.01", "0.05", "0.3"])]
        if what < 0.16:
            return ["--cupti-no-time", r.choice(["0.01", "0.05", "0.3"])]
        if what < 0.20:
            return ["--cupti-steal", str(r.randint(10, 300))]
        if what < 0.32:
            return ["--cupti-twice", r.choice(["0.05", "0.5"])]
        return []

    def failures(self) -> list[str]:
        """Returns options that make a call fail, once or always: a CUDA call of the program, or a CUPTI call
        of syncline."""
        r = self.random
        what = r.random()
        if what < 0.12:
            return ["--fail", f"{r.choice(FAILING)}:{r.choice([0, 1, 2, 3, 5, 8])}:{r.choice(ERRORS)}"]
        if what < 0.18:
            function = r.choice(list(FAILING_CUPTI))
            return ["--fail", f"{function}:{r.randint(1, FAILING_CUPTI[function])}:999"]
        return []

    def program(self) -> Program:
        self.prepare()
        self.body()
        self.end()
        options = {}
        if self.windows:
            options = {"window": "demand", "lead_in": self.random.choice(["0", "2ms", "10ms"])}
        if self.graphs and self.random.random() < 0.4:
            options["graph_edges"] = "1"
        program = Program(self.steps, self.trouble(), options)
        if self.graphs and self.random.random() < 0.15:
            program.sim.append("--graph-own-streams")
        if len(self.threads) > 1 and self.random.random() < 0.1:
            program.sim += ["--stamp-late", self.random.choice(["0.0001", "0.001"])]
        return program


def program(seed: int) -> Program:
    return Generator(seed).program()

"""Calls functions inside a real libnccl.so on the simulated GPU, by ctypes. A real NCCL makes no communicator without
a GPU, so the communicators here are zeros but for the members that NCCL's profiler code reads, and NCCL's functions
for loading a plugin and for each event are called in NCCL's order. The kernels are launched by this program.

The arguments are the number of elements of each call, and steps, in order:
load=FILE (a libnccl.so, which the following steps use), use=N (the N-th of these), cuda (a context, which loads
syncline), fail (public calls without a communicator, which send NVTX payloads), init and finalize (a communicator),
all (one call of each function, each in a group of its own), both (two collectives in one kernel), print (whether a
plugin is loaded, and NCCL's mask), NAME=VALUE (a variable of the environment), open and close (a window of
syncline)."""
import ctypes
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import nccl_library

P, U64, SIZE = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t
FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")  # NCCL's numbers
FLOAT32, SUM, ROOT, PEER, RANK, RANKS = 7, 0, 1, 2, 3, 4
HASH, NUMBER = 0xabcdef0123456789, 1 << 40  # the communicator's hash, and the first number of its collectives
PTX = b""".version 7.0
.target sm_52
.address_size 64
.visible .entry ncclDevKernel_spin_ns(.param .u64 duration) { ret; }
"""


class Loaded(ctypes.Structure):
    """The beginning of dl_phdr_info."""
    _fields_ = [("address", P), ("name", ctypes.c_char_p), ("headers", P), ("count", ctypes.c_uint16),
                ("adds", ctypes.c_ulonglong), ("subs", ctypes.c_ulonglong), ("block", SIZE), ("variables", P)]


class Nccl:
    """A loaded libnccl.so and its structures."""

    def __init__(self, path, count):
        self.path, self.count = path, count
        self.file = nccl_library.Library(path)
        self.symbols = self.file.symbols()
        self.sizes = {name: size for name, (size, _) in self.file.structures().items()}
        self.library = ctypes.CDLL(path)
        address = ctypes.cast(self.library.ncclGetVersion, P).value
        self.base = address - self.symbols["ncclGetVersion"]
        version = ctypes.c_int()
        self.library.ncclGetVersion(ctypes.byref(version))
        self.version = version.value
        self.comm = None

    def call(self, name, *arguments):
        return ctypes.CFUNCTYPE(ctypes.c_int)(self.base + self.symbols[name])(*arguments)

    def make(self, structure, **members):
        made = ctypes.create_string_buffer(self.sizes[structure])
        self.set(made, structure, **members)
        return made

    def set(self, of, structure, **members):
        for member, value in members.items():
            place, size, _ = self.file.structures()[structure][1][member]
            value = ctypes.addressof(value) if isinstance(value, ctypes.Array) else value or 0
            of[place:place + size] = value.to_bytes(size, "little")

    def mask(self):
        return ctypes.c_int.from_address(self.base + self.symbols["ncclProfilerEventMask"]).value

    def handles(self):
        """Returns the handles of this thread's group, ncclSend or ncclRecv, and collective."""
        found = []

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Loaded), SIZE, P)
        def look(loaded, size, user):
            if loaded[0].address == self.base:
                found.append(loaded[0].variables)
            return 0

        ctypes.CDLL(None).dl_iterate_phdr(look, None)
        at = found[0] + self.symbols["ncclProfilerApiState"]
        return [U64.from_address(at + offset).value for offset in (16, 24, 32)]

    # ---- events ----

    def init(self):
        self.comm = self.make("ncclComm", commHash=HASH, rank=RANK, nRanks=RANKS, nNodes=1)
        numbers = self.file.structures()["ncclComm"][1]["seqNumber"][0]
        for function in range(len(FUNCTIONS)):
            self.comm[numbers + 8 * function:numbers + 8 * function + 8] = (NUMBER + function).to_bytes(8, "little")
        check(self.call("ncclProfilerPluginInit", self.comm))

    def finalize(self):
        check(self.call("ncclProfilerPluginFinalize", self.comm))

    def start_call(self, function, is_first=True):
        """Sends the events of a call, which may be one of a group. Returns its task in the kernel, and its handles."""
        is_message = function in ("Send", "Recv")
        if self.version < 22800:  # NCCL 2.27 has no such events
            return self.task(function, None), None
        info = self.make("ncclInfo", coll=self.function_number(function), count=self.count, datatype=FLOAT32,
                         root=PEER if is_message else ROOT, comm=self.comm)
        api = "P2p" if is_message else "Coll"
        if is_first:
            self.call("ncclProfilerStartGroupApiEvent", info, ctypes.c_bool(False))
        self.call("ncclProfilerRecordGroupApiEventState", 23)
        self.call(f"ncclProfilerStart{api}ApiEvent", info, ctypes.c_bool(False))
        handles = self.handles()
        self.call(f"ncclProfilerStop{api}ApiEvent")
        return self.task(function, handles), handles

    def function_number(self, function):
        if function in FUNCTIONS:
            return FUNCTIONS.index(function)
        return {"Send": 6, "Recv": 7}[function]

    def task(self, function, handles):
        is_message = function in ("Send", "Recv")
        common = {"func": self.function_number(function), "count": self.count, "datatype": FLOAT32,
                  "eActivationMask": self.mask()}
        if handles:
            common["groupApiEventHandle"] = handles[0]
            common["p2pApiEventHandle" if is_message else "collApiEventHandle"] = handles[1 if is_message else 2]
        if is_message:
            return self.make("ncclTaskP2p", root=PEER, nChannels=2, **common)
        if function in ("Broadcast", "AllGather"):  # NCCL counts their bytes
            common |= {"count": self.count * 4, "datatype": 0}
        task = self.make("ncclTaskColl", root=ROOT, nChannels=3, **common)
        bits = self.file.structures()["ncclTaskColl"][1]["algorithm"][0]
        task[bits:bits + 4] = bytes([8, 16, 1, 2])  # channels, warps, RING, SIMPLE
        return task

    def launch(self, kernel, tasks, handles):
        """Launches a kernel for the tasks and sends its events."""
        plan = self.make("ncclKernelPlan", comm=self.comm)
        for task in reversed(tasks):  # a queue begins with the pointer to its first task, as does a task
            queue = "collTaskQueue" if len(task) == self.sizes["ncclTaskColl"] else "p2pTaskQueue"
            at = self.file.structures()["ncclKernelPlan"][1][queue][0]
            task[0:8] = plan[at:at + 8]
            plan[at:at + 8] = ctypes.addressof(task).to_bytes(8, "little")
        if self.version >= 22800:
            self.set(plan, "ncclKernelPlan", groupApiEventHandle=handles[0])
            self.call("ncclProfilerRecordGroupApiEventState", 24)
            self.call("ncclProfilerStartKernelLaunchEvent", plan, P(0))
        duration = U64(1000)
        arguments = (P * 1)(ctypes.addressof(duration))
        check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, P(0), arguments, None))
        if self.version >= 22800:
            self.call("ncclProfilerStopKernelLaunchEvent", plan)
        for name in ("StartGroup", "StartTask", "StopTask", "StopGroup"):
            self.call(f"ncclProfiler{name}Event{'s' * name.endswith('Task')}", plan)
        if self.version >= 22800:
            self.call("ncclProfilerStopGroupApiEvent")

    # ---- public calls ----

    def fail(self):
        """Makes calls without a communicator. NCCL refuses them after it has sent their NVTX payloads."""
        assert self.library.ncclGetUniqueId(ctypes.create_string_buffer(128)) == 0  # registers the names of reductions
        n, root, none = SIZE(self.count), ROOT, P(0)
        calls = {"AllReduce": (none, none, n, FLOAT32, SUM), "Broadcast": (none, none, n, FLOAT32, root),
                 "Reduce": (none, none, n, FLOAT32, SUM, root), "AllGather": (none, none, n, FLOAT32),
                 "ReduceScatter": (none, none, n, FLOAT32, SUM), "Send": (none, n, FLOAT32, PEER),
                 "Recv": (none, n, FLOAT32, PEER)}
        if self.version >= 22800:
            calls |= {"AlltoAll": (none, none, n, FLOAT32), "Gather": (none, none, n, FLOAT32, root),
                      "Scatter": (none, none, n, FLOAT32, root)}
        for name, arguments in calls.items():
            assert getattr(self.library, "nccl" + name)(*arguments, none, none) == 4, name


def check(result):
    assert result == 0, result


def start():
    global cuda, kernel
    cuda = ctypes.CDLL("libcuda.so.1")
    check(cuda.cuInit(0))
    context, module, kernel = P(), P(), P()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"ncclDevKernel_spin_ns"))


def window(is_open):
    syncline = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    check(syncline.sl_start() if is_open else syncline.sl_stop())
    status = (ctypes.c_uint32 * 512)(2048)
    while syncline.sl_status(status) != 0 or status[2] not in ((3,) if is_open else (0, 1)):
        time.sleep(0.001)


def main():
    count, *steps = sys.argv[1:]
    copies, nccl = [], None
    for step in steps:
        name, _, value = step.partition("=")
        if name == "load":
            nccl = Nccl(value, int(count))
            copies.append(nccl)
        elif name == "use":
            nccl = copies[int(value)]
        elif name.isupper():
            os.environ[name] = value
        elif name == "cuda":
            start()
        elif name in ("open", "close"):
            window(name == "open")
        elif name == "all":
            for function in (*FUNCTIONS, "Send", "Recv"):
                task, handles = nccl.start_call(function)
                nccl.launch(kernel, [task], handles)
        elif name == "both":
            tasks = [nccl.start_call("AllReduce"), nccl.start_call("ReduceScatter", is_first=False)]
            nccl.launch(kernel, [task for task, _ in tasks], tasks[0][1])
        elif name == "print":
            print("loaded", nccl.call("ncclProfilerPluginLoaded") & 1, "mask", nccl.mask(), flush=True)
        else:
            getattr(nccl, name)()
    if "cuda" in steps:
        check(cuda.cuCtxSynchronize())


main()

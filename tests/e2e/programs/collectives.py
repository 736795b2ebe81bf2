"""Makes collectives with NCCL on two devices of this process, by ctypes. The arguments are steps, in order:
init (two communicators), destroy, all (each function once, outside of groups), group (several functions in one group), pair (one function in a group),
capture (all, into
one graph for each device), replay (launches these graphs), fill (a memset), copy, split (two more communicators), both
(these and the first in one group), abort (these), again (init, from the same id each time), nonblocking (again, with
communicators that do not block), tag (an AllReduce with a user tag), default (the following calls use the default
stream), count=N (elements of the following calls), load=FILE (a
library), open, close and dump (a window of syncline), level=N (of sl_collectives()), range (a range of the user), storm (windows and levels from eight threads), status (prints what sl_status()
says about NCCL, as JSON), foreign (waits until the mask is not ours), fork (a child that makes collectives
of its own communicators), sync."""
import ctypes
import json
import os
import sys
import threading
import time

cuda = ctypes.CDLL("libcudart.so.13")
nccl = ctypes.CDLL("libnccl.so.2")
syncline = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]) if "CUDA_INJECTION64_PATH" in os.environ else None
P = ctypes.c_void_p
FLOAT32, BFLOAT16, SUM, MAX, BYTES = 7, 9, 0, 2, 1 << 20
comms, parts, ids, buffers, streams, graphs = [], [], [], [], [], []
count = 1000


def check(result):
    assert result == 0, result


def on(device):
    check(cuda.cudaSetDevice(device))


def setup():
    for device in range(2):
        on(device)
        pointers = [P(), P()]
        for pointer in pointers:
            check(cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(BYTES)))
        buffers.append(pointers)
        stream = P()
        check(cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))
        streams.append(stream)


def init():
    made = (P * 2)()
    check(nccl.ncclCommInitAll(made, 2, (ctypes.c_int * 2)(0, 1)))
    comms[:] = [P(made[0]), P(made[1])]


def destroy():
    for comm in comms:
        check(nccl.ncclCommDestroy(comm))


def calls(rank):
    """Returns a function that makes each call for this rank."""
    send, receive = buffers[rank]
    n, comm, stream = ctypes.c_size_t(count), comms[rank], streams[rank]
    return {
        "AllReduce": lambda: nccl.ncclAllReduce(send, receive, n, FLOAT32, SUM, comm, stream),
        "Broadcast": lambda: nccl.ncclBroadcast(send, receive, n, FLOAT32, 1, comm, stream),
        "Reduce": lambda: nccl.ncclReduce(send, receive, n, FLOAT32, MAX, 1, comm, stream),
        "AllGather": lambda: nccl.ncclAllGather(send, receive, n, BFLOAT16, comm, stream),
        "ReduceScatter": lambda: nccl.ncclReduceScatter(send, receive, n, FLOAT32, SUM, comm, stream),
        "AlltoAll": lambda: nccl.ncclAlltoAll(send, receive, n, FLOAT32, comm, stream),
        "Gather": lambda: nccl.ncclGather(send, receive, n, FLOAT32, 1, comm, stream),
        "Scatter": lambda: nccl.ncclScatter(send, receive, n, FLOAT32, 0, comm, stream),
        "Send" if rank == 0 else "Recv":
            (lambda: nccl.ncclSend(send, n, FLOAT32, 1, comm, stream)) if rank == 0 else
            (lambda: nccl.ncclRecv(receive, n, FLOAT32, 0, comm, stream)),
    }


def each():
    both = [calls(0), calls(1)]
    for names in zip(*both):
        for rank, name in enumerate(names):
            on(rank)
            check(both[rank][name]())


def capture():
    for device in range(2):
        on(device)
        check(cuda.cudaStreamBeginCapture(streams[device], 2))
    each()
    for device in range(2):
        on(device)
        graph, executable = P(), P()
        check(cuda.cudaStreamEndCapture(streams[device], ctypes.byref(graph)))
        check(cuda.cudaGraphInstantiate(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))
        graphs.append(executable)


def replay():
    for device in range(2):
        on(device)
        check(cuda.cudaGraphLaunch(graphs[device], streams[device]))


def group(*names):
    check(nccl.ncclGroupStart())
    for name in names:
        for rank in range(2):
            on(rank)
            check(calls(rank)[name]())
    check(nccl.ncclGroupEnd())


def fill():
    for device in range(2):
        on(device)
        check(cuda.cudaMemsetAsync(buffers[device][0], 0, ctypes.c_size_t(64), streams[device]))


def copy():
    for device in range(2):
        on(device)
        check(cuda.cudaMemcpyAsync(buffers[device][0], buffers[device][1], ctypes.c_size_t(64), 3, streams[device]))


def split():
    """Makes a communicator of the same ranks in another order, on two threads because the ranks wait for each other."""
    made = [P(), P()]
    threads = [threading.Thread(target=lambda rank=rank: check(
        nccl.ncclCommSplit(comms[rank], 0, -rank, ctypes.byref(made[rank]), None))) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    parts[:] = made


def both():
    """Collectives of two communicators in one group, whose kernels run one after the other on the same stream."""
    check(nccl.ncclGroupStart())
    for rank in range(2):
        on(rank)
        send, receive = buffers[rank]
        for comm, n in ((comms[rank], 50), (parts[rank], 60)):
            check(nccl.ncclAllReduce(send, receive, ctypes.c_size_t(n), FLOAT32, MAX, comm, streams[rank]))
    check(nccl.ncclGroupEnd())


def abort():
    for comm in parts:
        check(nccl.ncclCommAbort(comm))


def again(is_blocking=1):
    """Makes the two communicators from one id, also if there were communicators of this id before."""
    if not ids:
        ids.append(ctypes.create_string_buffer(128))
        check(nccl.ncclGetUniqueId(ids[0]))

    class Id(ctypes.Structure):
        _fields_ = [("path", ctypes.c_char * 128)]
    config = (ctypes.c_int32 * 32)()
    config[4] = is_blocking
    for rank in range(2):
        on(rank)
        comms[rank:] = [P()]
        check(nccl.ncclCommInitRankConfig(ctypes.byref(comms[rank]), 2, Id.from_buffer(ids[0]), rank, config))


def tag():
    for rank in range(2):
        on(rank)
        send, receive = buffers[rank]
        config = (ctypes.c_uint64 * 9)()
        config[7] = 4711
        check(nccl.ncclAllReduceConfig(send, receive, ctypes.c_size_t(count), FLOAT32, SUM, comms[rank], streams[rank],
                                       config))


def sync():
    for device in range(2):
        on(device)
        check(cuda.cudaDeviceSynchronize())


def fork():
    child = os.fork()
    if child == 0:
        nccl.ncclGroupStart()
        nccl.ncclGroupEnd()
        nccl.ncclCommDestroy(comms[0])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def default():
    streams[:] = [P(0), P(0)]


class Nccl(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int32), ("level", ctypes.c_int32), ("mask", ctypes.c_uint32),
                ("is_foreign", ctypes.c_int32)]


class Status(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("state", ctypes.c_int32), ("window", ctypes.c_uint32),
                ("windows_completed", ctypes.c_uint64), ("numbers", ctypes.c_uint64 * 4),
                ("texts", ctypes.c_char * 1280), ("collectives", ctypes.c_int32), ("nccl_count", ctypes.c_uint32),
                ("nccl", Nccl * 8)]


def ask():
    status = Status(size=ctypes.sizeof(Status))
    return status if syncline.sl_status(ctypes.byref(status)) == 0 else None


def wait_for(*states):
    while not ask() or ask().state not in states:
        time.sleep(0.001)


def show():
    status = ask()
    copies = [[one.version, one.level, one.mask, one.is_foreign] for one in status.nccl[:status.nccl_count]]
    print(json.dumps({"level": status.collectives, "copies": copies}), flush=True)


def user_range():
    check(syncline.sl_range_push(b"user's"))
    check(syncline.sl_range_pop())


def dump():
    done = ask().windows_completed
    check(syncline.sl_dump())
    while ask().windows_completed == done or ask().state != 3:
        time.sleep(0.001)


def storm():
    """Eight threads open, close and dump windows and change the level, while this thread makes collectives."""
    is_over = threading.Event()

    def change(number):
        calls = [syncline.sl_start, syncline.sl_stop, syncline.sl_dump, lambda: syncline.sl_collectives(number % 4),
                 lambda: syncline.sl_collectives(1), ask]
        while not is_over.is_set():
            number = (number * 1103515245 + 12345) % (1 << 31)
            calls[(number >> 16) % len(calls)]()
    threads = [threading.Thread(target=change, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        each()
        fork()
    sync()
    is_over.set()
    for thread in threads:
        thread.join()
    syncline.sl_stop()
    wait_for(0, 1)


def wait_until_foreign():
    while not any(one.is_foreign for one in ask().nccl):
        time.sleep(0.001)


def start():
    check(syncline.sl_start())
    wait_for(3)


def stop():
    check(syncline.sl_stop())
    wait_for(0, 1)


def main():
    global count
    setup()
    steps = {"init": init, "destroy": destroy, "all": each, "group": lambda: group("AllReduce", "ReduceScatter"), "pair": lambda: group("Reduce"), "sync": sync, "fork": fork, "fill": fill, "split": split, "both": both, "abort": abort, "again": again, "nonblocking": lambda: again(0), "tag": tag, "copy": copy, "range": user_range, "storm": storm,
             "capture": capture, "replay": replay, "default": default,
             "open": start, "close": stop, "dump": dump, "status": show, "foreign": wait_until_foreign}
    for step in sys.argv[1:]:
        if step.startswith("count="):
            count = int(step[6:])
        elif step.startswith("level="):
            print(syncline.sl_collectives(int(step[6:])), flush=True)
        elif step.startswith("load="):
            ctypes.CDLL(step[5:])
        elif step.startswith("half:"):  # a window opens between the calls of a group
            check(nccl.ncclGroupStart())
            on(0)
            check(calls(0)["AllReduce"]())
            steps[step[5:]]()
            on(1)
            check(calls(1)["AllReduce"]())
            check(nccl.ncclGroupEnd())
        else:
            steps[step]()
    sync()


main()

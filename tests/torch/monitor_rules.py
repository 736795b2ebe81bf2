"""The rules of Google's monitor_collectives.py, written anew from its definitions: eighteen functions of
torch.distributed are replaced by functions that print what they were called with, and then call the original.
under_monitor.py loads this file."""
import functools
import inspect
import io
import json
import os
import pickle
import sys
import time

import torch
import torch.distributed as dist

MODE = os.environ.get("TORCH_DISTRIBUTED_TRACING", "CROSSNODE").lower()
PER_NODE = int(os.environ["LOCAL_WORLD_SIZE"])

ORIGINAL = {}
batches = 0


def size(tensor):
    return tensor.nelement() * tensor.element_size()


def total(tensors):
    return sum(map(size, tensors))


def pickled(objects):
    total_bytes = 0
    for thing in objects:
        buffer = io.BytesIO()
        pickle.Pickler(buffer).dump(thing)
        total_bytes += buffer.getbuffer().nbytes
    return total_bytes


def all_to_all_single(a):
    data, rank, ranks = a["input"], dist.get_rank(a["group"]), dist.get_world_size(a["group"])
    own = a["input_split_sizes"][rank] if a["input_split_sizes"] is not None else data.size(dim=0) / ranks
    return size(data) - own * (data.nelement() / data.size(dim=0)) * data.element_size()


# Call -> its message size.
SIZES = {
    "barrier": lambda a: 1,
    "broadcast_object_list": lambda a: pickled(a["object_list"]),
    "gather": lambda a: total(a["gather_list"]) - size(a["tensor"]),
    "scatter": lambda a: total(a["scatter_list"]) - size(a["tensor"]),
    "reduce_scatter": lambda a: size(a["output"]),
    "reduce_scatter_tensor": lambda a: size(a["output"]),
    "all_gather": lambda a: total(a["tensor_list"]),
    "all_gather_into_tensor": lambda a: size(a["output_tensor"]),
    "all_to_all": lambda a: total(a["input_tensor_list"]) - size(a["input_tensor_list"][dist.get_rank(a["group"])]),
    "all_to_all_single": all_to_all_single,
    **dict.fromkeys(("broadcast", "reduce", "all_reduce", "isend", "irecv", "send", "recv"), lambda a: size(a["tensor"])),
}
NAMES = {"reduce_scatter_tensor": "reduce_scatter", "all_gather_into_tensor": "all_gather", "isend": "send", "irecv": "recv"}
ROOTS = {"broadcast": "src", "broadcast_object_list": "src", "reduce": "dst", "gather": "dst", "scatter": "src"}
PEERS = {"isend": "dst", "irecv": "src", "send": "dst", "recv": "src"}


def is_between_nodes(group, peer):
    if peer is not None:
        return peer // PER_NODE != dist.get_rank() // PER_NODE
    ranks = dist.get_process_group_ranks(group) if group is not None else range(dist.get_world_size())
    return len({rank // PER_NODE for rank in ranks}) > 1


def tell(call, size_of, group, root, peer, frame, batch=None):
    """Prints a line as far as this rank prints one for the call. `size_of` is called only if it does."""
    rank = dist.get_rank()
    if dist.get_rank(group) < 0 or (MODE == "crossnode" and not is_between_nodes(group, peer)):
        return
    if call in ("gather", "scatter") and rank != root:
        return
    leader = root if root is not None else dist.get_global_rank(group, 0) if group is not None else 0
    if peer is None and rank != leader:
        return
    line = {"name": NAMES.get(call, call), "rank": rank, "source_line": f"{frame.f_code.co_filename}:{frame.f_lineno}",
            "message_size": size_of(), "device": torch.cuda.current_device(), "timestamp": int(time.time())}
    line |= {} if group is None else {"group_ranks": dist.get_process_group_ranks(group)}
    line |= {} if peer is None else {"peer_rank": peer}
    line |= {} if root is None else {"root_rank": root}
    line |= {} if batch is None else {"correlation_id": batch}
    line |= {name.lower(): os.environ[name] for name in ("GPU_SERIAL", "VM_ID") if name in os.environ}
    sys.stdout.write("monitor " + json.dumps(line) + "\n")
    sys.stdout.flush()


def replace(call):
    original = ORIGINAL[call] = getattr(dist, call)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def told(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        a = bound.arguments
        tell(call, lambda: SIZES[call](a), a["group"], a.get(ROOTS.get(call)), a.get(PEERS.get(call)), sys._getframe(1))
        return original(*args, **kwargs)

    setattr(dist, call, told)


def replace_batch():
    original = dist.batch_isend_irecv

    def told(ops):
        global batches
        batches += 1
        for op in ops:
            tell("isend" if op.op is ORIGINAL["isend"] else "irecv", lambda op=op: size(op.tensor), op.group, None,
                 op.peer, sys._getframe(1), batches)
        return original(ops)

    dist.batch_isend_irecv = told


def replace_op():
    """torch.distributed accepts only its own isend and irecv in an operation."""
    original = dist.P2POp
    dist.P2POp = lambda op, *args, **kwargs: original(getattr(op, "__wrapped__", op), *args, **kwargs)


for name in SIZES:
    replace(name)
replace_batch()
replace_op()

"""Simulates an execution trace in the simplest way, by computing the longest path through the dependencies.

Each stream and each thread has a queue. A node starts `delay_ns` after its last parent has ended and its
queue is free. A node lasts `duration_ns`. A node without a parent starts at its recorded time."""
import heapq
import types
from collections.abc import Callable, Mapping

from chakra import COMP, Et, Node


def everything(_parent: Node, _node: Node) -> bool:
    return True


def replay(et: Et, duration: Callable[[Node], float] = lambda node: node.duration,
           keep: Callable[[Node, Node], bool] = everything,
           held_up: Mapping[int, int] = types.MappingProxyType({})) -> dict[int, float]:
    """Returns the time at which each node ends. `keep` returns whether a dependency is used.
    `held_up` maps a node's id to an extra delay in ns, for causes of delays that the file does not
    contain."""
    ends: dict[int, float] = {}
    free: dict[tuple, float] = {}
    for node in et.nodes:
        parents = [ends[d] for d in node.deps if keep(et.by_id[d], node)]
        lane = et.lane(node)
        if lane in free:
            parents.append(free[lane])
        begin = max(parents) + node.delay + held_up.get(node.id, 0) if parents else node.start
        ends[node.id] = free[lane] = begin + duration(node)
    return ends


def without_sync_edges(parent: Node, node: Node) -> bool:
    """A function for `keep` that uses every dependency, except the dependencies of CPU nodes on GPU
    operations."""
    return parent.cpu or not node.cpu


def kernels_longer(factor: float) -> Callable[[Node], float]:
    """Returns a function for `duration` that makes kernels longer by `factor`. Copies and memsets
    (nodes with a size) keep their durations."""
    return lambda node: node.duration * (factor if not node.cpu and "tensor_size" not in node.attr
                                         else 1)


def simulate(et: Et) -> int:
    """Returns the time in us that a simulator such as ASTRA-sim needs for the file. It knows only the
    dependencies and `duration_micros`, and has one slot for the CPU, one for computation on the GPU and one for
    communication. A free slot takes the node with the lowest id of those whose parents have ended."""
    children: dict[int, list[Node]] = {}
    open_parents = {node.id: len(node.deps) for node in et.nodes}
    for node in et.nodes:
        for parent in node.deps:
            children.setdefault(parent, []).append(node)
    ready: dict[str, list[int]] = {"cpu": [], "gpu": [], "comm": []}
    running: list[tuple[int, int, str]] = []
    free, now = set(ready), 0

    def slot(node: Node) -> str:
        return "cpu" if node.cpu else "gpu" if node.type == COMP else "comm"

    for node in et.nodes:
        if not open_parents[node.id]:
            heapq.heappush(ready[slot(node)], node.id)
    while True:
        for name in [name for name in free if ready[name]]:
            node = et.by_id[heapq.heappop(ready[name])]
            heapq.heappush(running, (now + node.proto.duration_micros, node.id, name))
            free.remove(name)
        if not running:
            break
        now, ended, name = heapq.heappop(running)
        free.add(name)
        for node in children.get(ended, []):
            open_parents[node.id] -= 1
            if not open_parents[node.id]:
                heapq.heappush(ready[slot(node)], node.id)
    assert not any(open_parents.values())
    return now

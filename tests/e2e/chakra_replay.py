"""Simulates an execution trace in the simplest way, by computing the longest path through the dependencies.

Each stream and each thread has a queue. A node starts `delay_ns` after its last parent has ended and its
queue is free. A node lasts `duration_ns`. A node without a parent starts at its recorded time."""
import types
from collections.abc import Callable, Mapping

from chakra import Et, Node


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

"""A simulator of the simplest kind: the longest path through an execution trace.

A node starts when its last parent has ended and its queue (one per stream and per thread) is free,
`delay_ns` after that, and lasts `duration_ns`. One without a parent starts at its own time."""
import types
from collections.abc import Callable, Mapping

from chakra import Et, Node


def everything(_parent: Node, _node: Node) -> bool:
    return True


def replay(et: Et, duration: Callable[[Node], float] = lambda node: node.duration,
           keep: Callable[[Node, Node], bool] = everything,
           held_up: Mapping[int, int] = types.MappingProxyType({})) -> dict[int, float]:
    """When each node ends. `keep` says which dependencies hold, `held_up` which nodes began later
    (ns) for what is not in the file."""
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
    """Everything but what a thread waited for."""
    return parent.cpu or not node.cpu


def kernels_longer(factor: float) -> Callable[[Node], float]:
    """Kernels take so much longer; copies and memsets (which have bytes) do not."""
    return lambda node: node.duration * (factor if not node.cpu and "tensor_size" not in node.attr
                                         else 1)

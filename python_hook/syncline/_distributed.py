"""Reports the process groups for the trace's header, in torch.profiler's form. Runs on the threads
that create groups."""
import functools
import json

from . import _library, _say

# Maximum length of the groups' text. A longer text would make the trace's header too large for
# readers, so the ranks are then left out.
_TEXT_MOST = 200_000


def _ranks(world, group):
    """Returns the ranks of a group. A new default group is reported before PyTorch has listed its
    ranks. The default group has all ranks."""
    known = world.pg_group_ranks.get(group)
    return list(range(group.size())) if known is None else list(known)


def _config(world, group, with_ranks):
    ranks = _ranks(world, group)
    config = {"pg_name": world.pg_names.get(group, ""),
              "pg_desc": getattr(group, "group_desc", ""),
              "backend_config": str(world.pg_backend_config.get(group, "")),
              "pg_size": len(ranks)}
    if with_ranks:
        config["ranks"] = ranks
    return config


def _nccl_version(backend):
    import torch  # torch is already imported, because a module of torch calls this function

    try:
        return ".".join(map(str, torch.cuda.nccl.version())) if backend == "nccl" else "unknown"
    except (AttributeError, RuntimeError):
        return "unknown"


def _info(module, with_ranks=True):
    world = module._world
    default = world.default_pg
    backend = str(world.pg_map[default][0])
    return {"backend": backend, "rank": default.rank(), "world_size": default.size(),
            "pg_count": world.group_count,  # all groups that were created, also those of other ranks
            "pg_config": [_config(world, group, with_ranks) for group in world.pg_map],
            "nccl_version": _nccl_version(backend)}


def _newest(world):
    """Returns a value that changes whenever this rank joins or leaves a group. The value contains
    the newest group's name and the number of groups. The name alone does not change if an older
    group is destroyed. The number alone does not change if a group replaces another."""
    newest = next(reversed(world.pg_map), None)
    return len(world.pg_map), id(newest), world.pg_names.get(newest)


def _tell(module):
    if module._world.default_pg is None:
        return
    text = json.dumps(_info(module)).encode()
    if len(text) > _TEXT_MOST:
        text = json.dumps(_info(module, with_ranks=False)).encode()
    if len(text) <= _TEXT_MOST:
        _library.call("sl_hook_groups", text)


def _attach(module):
    """Wraps two functions of `module` (PyTorch's distributed_c10d). PyTorch itself calls the two
    functions by their names in that module, so PyTorch calls our wrappers, too."""
    told = None

    def tell():
        nonlocal told
        told = _newest(module._world)
        _tell(module)

    def tell_of_another():
        """Reports the groups if this rank has joined a new group. (Every rank creates every group,
        but joins only some.)"""
        if _newest(module._world) != told:
            tell()

    module._update_default_pg = _telling(module._update_default_pg, tell)
    module._new_group_with_tag = _telling(module._new_group_with_tag, tell_of_another)
    _safely(tell)


def _safely(tell):
    try:
        tell()
    except Exception as error:  # noqa: BLE001 - no error of this file may reach the job
        _say.miss("process groups", error)


def _telling(original, tell):
    @functools.wraps(original)
    def telling(*args, **kwargs):
        result = original(*args, **kwargs)
        _safely(tell)
        return result

    return telling


HOOKS = {"torch.distributed.distributed_c10d": _attach}

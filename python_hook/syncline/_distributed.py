"""Which process groups there are, for the trace's header, as torch.profiler has it there. On the
threads that make groups."""
import functools
import json

from . import _library, _say

# A header that every reader takes in whole: the ranks of larger jobs' groups are left out.
_TEXT_MOST = 200_000


def _ranks(world, group):
    """A new default group is told of before its ranks are known: they are all there are."""
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
    import torch  # it is there: one of its modules calls us

    try:
        version = torch._C._nccl_version() if backend == "nccl" else None
    except (AttributeError, RuntimeError):
        version = None
    if version is None:
        return "unknown"
    if isinstance(version, tuple):
        return ".".join(map(str, version))
    return f"{version >> 32}.{version >> 16 & 0xffff}.{version & 0xffff}"


def _info(module, with_ranks=True):
    world = module._world
    default = world.default_pg
    backend = str(world.pg_map[default][0])
    groups = list(world.pg_map)
    return {"backend": backend, "rank": default.rank(), "world_size": default.size(),
            "pg_count": len(groups),
            "pg_config": [_config(world, group, with_ranks) for group in groups],
            "nccl_version": _nccl_version(backend)}


def _tell(module):
    if module._world.default_pg is None:
        return
    text = json.dumps(_info(module)).encode()
    if len(text) > _TEXT_MOST:
        text = json.dumps(_info(module, with_ranks=False)).encode()
    if len(text) <= _TEXT_MOST:
        _library.call("sl_hook_groups", text)


def _attach(module):
    """Both are called by PyTorch's own functions, under their names in this module."""
    for name in ("_update_default_pg", "_new_group_with_tag"):
        setattr(module, name, _telling(module, getattr(module, name)))
    _tell_safely(module)


def _tell_safely(module):
    try:
        _tell(module)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not the job's
        _say.miss("process groups", error)


def _telling(module, original):
    @functools.wraps(original)
    def telling(*args, **kwargs):
        result = original(*args, **kwargs)
        _tell_safely(module)
        return result

    return telling


HOOKS = {"torch.distributed.distributed_c10d": _attach}

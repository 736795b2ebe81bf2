"""Finds the job's steps if the job does not mark them: a step of its first optimizer; without
optimizers, a batch of a DataLoader. The library decides which of them counts (control/step.h): the
better source silences the others.

Runs on the job's threads. The hooks only report to the library, which takes a microsecond.
"""
import functools
import weakref

from . import _library

# sl_hook_step()'s sources.
_LOADER, _OPTIMIZER = 0, 1

# How often another may step before the first optimizer is taken for retired. (Not how often all
# others together: there may be one for each parameter, which step one after the other.)
_RETIRED_AFTER = 100
# Batches for which a job that trains may have an optimizer that has not stepped yet.
_PATIENCE = 32


class _Optimizers:
    """Decides which of several optimizers ends a step: the first. (A GAN has two. Sharded
    optimizers call others inside. A backward pass may step one for each parameter.)"""

    def __init__(self):
        self._primary = None  # the first one's id
        self._is_alive = lambda: False  # whether it is; what has no weak references counts as alive
        self._others = {}  # id of each other -> its steps since the first one's last
        self.told = 0  # steps of any

    def stepped(self, optimizer):
        self.told += 1
        is_alive = self._is_alive()
        if not is_alive or self._primary != id(optimizer):
            steps = self._others[id(optimizer)] = self._others.get(id(optimizer), 0) + 1
            if is_alive and steps < _RETIRED_AFTER:
                return
            self._take(optimizer)
        self._others.clear()
        _library.call("sl_hook_step", _OPTIMIZER)

    def _take(self, optimizer):
        self._primary = id(optimizer)
        try:
            refer = weakref.ref(optimizer)
        except TypeError:  # an optimizer of the program's own, with __slots__
            self._is_alive = lambda: True
        else:
            self._is_alive = lambda: refer() is not None


_optimizers = _Optimizers()


def _is_compiling(torch_optimizer):
    """torch.compile may trace through an optimizer; it must find nothing of ours there."""
    compiler = getattr(getattr(torch_optimizer, "torch", None), "compiler", None)
    return getattr(compiler, "is_compiling", lambda: False)


def _attach_to_optimizers(module):
    is_compiling = _is_compiling(module)

    def stepped(optimizer, args, kwargs):
        if not is_compiling():
            _optimizers.stepped(optimizer)

    module.register_optimizer_step_post_hook(stepped)


def _attach_to_scaler(module):
    """A step counts even if a GradScaler skips it because gradients overflowed."""
    original = module.GradScaler.step

    @functools.wraps(original)
    def step(self, optimizer, *args, **kwargs):
        told = _optimizers.told
        result = original(self, optimizer, *args, **kwargs)
        if _optimizers.told == told:
            _optimizers.stepped(optimizer)
        return result

    module.GradScaler.step = step


def _attach_to_loaders(module):
    """A step begins when its batch is requested. If there is no batch, the epoch is over, and the
    next batch belongs to the step that this request began. In a job that trains, several batches
    may make one step of the optimizer, so the optimizer gets some time to appear first."""
    original = module._BaseDataLoaderIter.__next__
    trains = getattr(getattr(module, "torch", None), "is_grad_enabled", lambda: False)
    is_between_epochs = False
    asked = 0

    @functools.wraps(original)
    def __next__(self):
        nonlocal asked, is_between_epochs
        asked += 1
        if not is_between_epochs and not _optimizers.told and (asked > _PATIENCE or not trains()):
            _library.call("sl_hook_step", _LOADER)
        is_between_epochs = False
        try:
            return original(self)
        except StopIteration:
            is_between_epochs = True
            raise

    module._BaseDataLoaderIter.__next__ = __next__


# Module of PyTorch's -> what is done once it is there.
HOOKS = {"torch.optim.optimizer": _attach_to_optimizers,
         "torch.amp.grad_scaler": _attach_to_scaler,
         "torch.utils.data.dataloader": _attach_to_loaders}

"""Finds the job's steps if the job does not mark them. A step is a step of the job's first
optimizer, or without optimizers, a batch of a DataLoader. If the job has several sources of steps,
the library uses one of them (collect/lane/step.h).

Runs on the job's threads. The hooks only call the library, which takes a microsecond.
"""
import functools
import weakref

from . import _library

# sources of sl_hook_step()
_LOADER, _OPTIMIZER = 0, 1

# The first optimizer counts as no longer used once another optimizer has made this many steps since
# the first optimizer's last step. Each other optimizer is counted alone, because a job may have one
# optimizer for each parameter.
_RETIRED_AFTER = 100
# A job that trains may load up to this many batches before an optimizer makes its first step.
_PATIENCE = 32


class _Optimizers:
    """Finds out which of several optimizers ends a step. This is the first optimizer that makes a
    step. (A GAN has two optimizers. A sharded optimizer calls other optimizers. A backward pass may
    call one optimizer for each parameter.)"""

    def __init__(self):
        self._primary = None  # id of the first optimizer
        # function that returns whether the first optimizer still exists; if weak references to it
        # are impossible, it counts as existing
        self._is_alive = lambda: False
        self._others = {}  # id of another optimizer -> its steps since the first one's last step
        self.told = 0  # number of steps of all optimizers

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
        except TypeError:  # weak references to a class with __slots__ are impossible
            self._is_alive = lambda: True
        else:
            self._is_alive = lambda: refer() is not None


_optimizers = _Optimizers()


def _is_compiling(torch_optimizer):
    """Returns whether torch.compile is tracing an optimizer. The calls of this file must not become
    part of the compiled graph."""
    compiler = getattr(getattr(torch_optimizer, "torch", None), "compiler", None)
    return getattr(compiler, "is_compiling", lambda: False)


def _attach_to_optimizers(module):
    is_compiling = _is_compiling(module)

    def stepped(optimizer, args, kwargs):
        if not is_compiling():
            _optimizers.stepped(optimizer)

    module.register_optimizer_step_post_hook(stepped)


def _attach_to_scaler(module):
    """Counts a step even if a GradScaler skips it because gradients overflowed."""
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
    """Begins a step when the loop requests its batch from the DataLoader. If there is no further
    batch, the epoch is over. Then the first batch of the next epoch belongs to the step that this
    request has begun. In a job that trains, a step of the optimizer may use several batches. So in
    a job that trains, batches begin steps only after _PATIENCE batches without a step of an
    optimizer."""
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


# module of PyTorch -> function that hooks into it
HOOKS = {"torch.optim.optimizer": _attach_to_optimizers,
         "torch.amp.grad_scaler": _attach_to_scaler,
         "torch.utils.data.dataloader": _attach_to_loaders}

"""Records a range for each run of a graph that torch.compile has made with inductor. The range's
name is PyTorch's own: `## Call CompiledFxGraph KEY ##`. PyTorch 2.9 always opens a
record_function() scope of this name. PyTorch 2.11 to 2.15 open the scope only while a profiler of
PyTorch runs. PyTorch 2.4 to 2.7 never open the scope. Runs on the threads that run the graphs.
"""
import functools
import sys

from . import _library


def _tells_always(call):
    names = call.__code__.co_names
    return "record_function" in names and "_is_profiler_enabled" not in names


def _hide(function):
    """Hides `function` from Dynamo. Dynamo does not trace functions in PyTorch's folder. But Dynamo
    would trace our function, which wraps a function of that folder but is not in the folder."""
    skip = getattr(sys.modules.get("torch._dynamo.decorators"), "skip", None)
    if skip is not None:
        skip(function)


def _wrap(graph_class, profiler):
    call = graph_class.__call__
    push, pop = _library.function("sl_range_push"), _library.function("sl_range_pop")
    if push is None or pop is None:
        return
    key = "_fx_graph_cache_key" if hasattr(graph_class, "_fx_graph_cache_key") else "cache_key"

    @functools.wraps(call)
    def __call__(self, *args, **kwargs):
        if profiler._is_profiler_enabled:
            return call(self, *args, **kwargs)
        name = f"## Call CompiledFxGraph {getattr(self, key, None)} ##"
        push(name.encode("utf-8", "replace"))
        try:
            return call(self, *args, **kwargs)
        finally:
            pop()

    _hide(__call__)
    graph_class.__call__ = __call__


def _attach(module):
    graph_class = getattr(module, "CompiledFxGraph", None)
    # From PyTorch 2.6 on, output_code defines the class, and codecache only imports it.
    if getattr(graph_class, "__module__", None) != module.__name__ or \
            _tells_always(graph_class.__call__):
        return
    profiler = sys.modules["torch.autograd.profiler"]
    if not hasattr(profiler, "_is_profiler_enabled"):
        raise AttributeError("there is no torch.autograd.profiler._is_profiler_enabled")
    _library.when_loaded(lambda: _wrap(graph_class, profiler))


HOOKS = {"torch._inductor.output_code": _attach, "torch._inductor.codecache": _attach}

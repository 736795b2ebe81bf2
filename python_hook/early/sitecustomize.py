"""Loads the package when Python starts, before the job imports PyTorch. `syncline run` puts this
folder in front of PYTHONPATH, so that Python imports this file as its sitecustomize. This file
removes the folder from sys.path again, and then imports the job's own sitecustomize, if there is
one.
"""
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _boot():
    path = os.path.join(os.path.dirname(_HERE), "syncline", "_boot.py")
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    scope = {"__name__": "syncline._boot", "__file__": path}
    exec(code, scope)
    return scope["start"](is_early=True)


def _is_left_alone():
    """Returns whether SYNCLINE_PYTHON is off, or this Python was built without the GIL. syncline does not
    hook such a Python. `import syncline` still works. collect/python/boot.c has the same checks."""
    is_off = os.environ.get("SYNCLINE_PYTHON", "").lower() not in ("", "1", "on", "yes", "true")
    return is_off or "free-threading" in sys.version


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
# Move the package's folder behind site-packages, because the job may have its own `syncline`.
_PACKAGE = os.path.dirname(_HERE)
if _PACKAGE in sys.path:
    sys.path.remove(_PACKAGE)
    sys.path.append(_PACKAGE)
try:
    if not _is_left_alone():
        _said = _boot()
        if _said and os.environ.get("SYNCLINE_LOG", "").lower() == "debug":
            os.write(2, f"syncline: Python: {_said}\n".encode("utf-8", "replace"))
except Exception as error:  # noqa: BLE001 - no error of this file may reach the job
    if os.environ.get("SYNCLINE_LOG", "").lower() == "debug":
        os.write(2, f"syncline: Python: {type(error).__name__}: {error}\n".encode("utf-8", "replace"))
# Import the job's own sitecustomize. If there is none, Python expects an ImportError.
del sys.modules[__name__]
__import__("importlib").import_module(__name__)

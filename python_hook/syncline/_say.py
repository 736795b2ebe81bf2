"""Prints lines on stderr like the library's; SYNCLINE_LOG selects them. Any thread; never raises."""
import os
import sys

_LEVELS = ("off", "error", "warn", "info", "debug")


def say(level, text):
    asked = os.environ.get("SYNCLINE_LOG", "").lower()
    most = _LEVELS.index(asked) if asked in _LEVELS else _LEVELS.index("info")
    if _LEVELS.index(level) > most:
        return
    try:
        os.write(2, f"syncline: {text}\n".encode("utf-8", "replace"))
    except OSError:
        pass


_missed = set()


def miss(what, why):
    """Reports that something in PyTorch is not as expected. Reports each `what` only once."""
    if what in _missed:
        return
    _missed.add(what)
    version = getattr(sys.modules.get("torch"), "__version__", "of an unknown version")
    say("warn", f"torch {version} is not as syncline expects ({why}): {what} may be missing; "
                "the job is not affected")

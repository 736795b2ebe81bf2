"""Prints log lines on stderr in the form of the library's log lines. SYNCLINE_LOG selects the
level. The functions may be called on any thread, and raise no exception."""
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
    """Reports that a part of PyTorch is missing or different from what syncline expects. Each
    `what` is reported only once."""
    if what in _missed:
        return
    _missed.add(what)
    version = getattr(sys.modules.get("torch"), "__version__", "of an unknown version")
    say("warn", f"torch {version} is not as syncline expects ({why}): {what} may be missing; "
                "the job is not affected")

"""Asks syncline for the current source line from many kinds of Python code: python_lines.py PROBE CASE

The source line of each question ends with a mark (`# at: MARK`). Prints each answer with the mark,
so that the caller can compare the two. Runs on Python 3.9 and later."""

import asyncio
import contextlib
import ctypes
import dis
import gc
import sys
import threading
import types

probe = ctypes.CDLL(sys.argv[1])  # CDLL releases Python's lock during each call
probe.probe_line.restype = probe.probe_elsewhere.restype = ctypes.c_char_p
held = ctypes.PyDLL(sys.argv[1])  # PyDLL keeps Python's lock during each call
held.probe_line.restype = ctypes.c_char_p
print("begin", probe.probe_begin(3 if sys.argv[2] == "depth" else 1), sep="\t")

ask = probe.probe_line


def tell(mark, answer):
    print(f"{mark}\t{answer.decode() if answer else None}")


# ---- code that asks for its line at one place ----


def function():
    return ask()  # at: function


def recursion(depth):
    return recursion(depth - 1) if depth else ask()  # at: recursion


def closure():
    def inner():
        return ask()  # at: inner

    return inner()


def over_lines():
    return [
        1,
        ask(),  # at: over_lines
        3,
    ][1]


def generator():
    yield 1
    yield ask()  # at: generator


def delegated():
    yield from generator()


async def coroutine():
    await asyncio.sleep(0)
    return ask()  # at: coroutine


async def asynchronous_items():
    yield ask()  # at: asynchronous_items


async def first_item():
    async for item in asynchronous_items():
        return item


@contextlib.contextmanager
def manager(answers):
    yield
    answers.append(ask())  # at: manager


def after_a_with():
    answers = []
    with manager(answers):
        pass
    return answers[0]


def in_finally():
    try:
        raise ValueError
    except ValueError:
        pass
    finally:
        answer = ask()  # at: in_finally
    return answer


def loop():
    answer = None
    for _ in range(300):
        answer = ask()  # at: loop
    return answer


def go_back():
    again = True
    while True:
        if not again:
            return ask()  # at: go_back
        again = False


class Thing:
    at_class = ask()  # at: Thing

    def __init__(self):
        self.answer = ask()  # at: Thing.__init__

    @property
    def named(self):
        return ask()  # at: Thing.named

    def __del__(self):
        Thing.deleted = ask()  # at: Thing.__del__

    def __lt__(self, other):
        Thing.compared = ask()  # at: Thing.__lt__
        return True

    @staticmethod
    def static():
        return ask()  # at: Thing.static


class Meta(type):
    def __call__(cls):
        return ask()  # at: Meta.__call__


class Made(metaclass=Meta):
    pass


def delete():
    thing = Thing()
    thing.itself = thing
    del thing
    gc.collect()
    return Thing.deleted


def compare():
    sorted([Thing(), Thing()])
    return Thing.compared


def with_key():
    answers = []
    sorted([1], key=lambda _: answers.append(ask()))  # at: with_key
    return answers[0]


def through_c():
    answers = []
    callback = ctypes.CFUNCTYPE(None)(lambda: answers.append(ask()))  # at: through_c
    callback()
    return answers[0]


def with_the_lock():
    return held.probe_line()  # at: with_the_lock


def comprehension():
    return [ask() for _ in range(2)][1]  # at: comprehension


def traced():
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        return function_that_is_traced()
    finally:
        sys.settrace(before)


def function_that_is_traced():
    return ask()  # at: function_that_is_traced


def grün():
    return ask()  # at: grün


def наружу():
    return ask()  # at: наружу


def 𝔣unc_above_ffff():
    return ask()  # at: func_above_ffff


def in_thread():
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask()))  # at: in_thread
    thread.start()
    thread.join()
    return answers[0]


def one_each():
    tell("function", function())
    tell("recursion", recursion(40))
    tell("inner", closure())
    tell("over_lines", over_lines())
    tell("generator", list(delegated())[1])
    tell("coroutine", asyncio.run(coroutine()))
    tell("asynchronous_items", asyncio.run(first_item()))
    tell("manager", after_a_with())
    tell("in_finally", in_finally())
    tell("loop", loop())
    tell("go_back", go_back())
    tell("Thing", Thing.at_class)
    tell("Thing.__init__", Thing().answer)
    tell("Thing.named", Thing().named)
    tell("Thing.static", Thing.static())
    tell("Thing.__del__", delete())
    tell("Thing.__lt__", compare())
    tell("Meta.__call__", Made())
    tell("with_key", with_key())
    tell("through_c", through_c())
    tell("with_the_lock", with_the_lock())
    tell("comprehension", comprehension())
    tell("function_that_is_traced", traced())
    tell("grün", grün())
    tell("наружу", наружу())
    tell("func_above_ffff", 𝔣unc_above_ffff())
    tell("in_thread", in_thread())
    tell("module", ask())  # at: module
    tell("elsewhere", probe.probe_elsewhere())


# ---- cases with libraries, threads and many lines ----


def run(source, name, **names):
    scope = dict(names)
    exec(compile(source, name, "exec"), scope)
    return scope


def libraries():
    """syncline skips frames of libraries. If there are only frames of libraries, there is no
    line."""
    call = "def call(f):\n    return f()\n"
    for name in (
        "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "/usr/lib/python3/dist-packages/torch/a.py",
        "/usr/lib/python3.12/asyncio/runners.py",
        "/usr/lib64/python3.9/contextlib.py",
        "<frozen importlib._bootstrap>",
        "<eval_with_key>.17",
        "/tmp/torchinductor_root/ab/cab.py",
        "/usr/local/lib/syncline/python/syncline/_steps.py",
        "/usr/local/lib/syncline/python/syncline/__init__.py",
    ):
        scope = run(call, name)
        tell("libraries", scope["call"](ask))  # at: libraries
    for name, mine in (
        ("/opt/venv/lib/python3.11/site-packages/torchmine/a.py", 1),
        ("/opt/venv/lib/python3.11/site-packages/transformers/trainer.py", 1),
        ("/home/me/torch/train.py", 1),
        ("<string>", 1),
        ("a.py", 1),
    ):
        tell(f"{name}:2 call", run(call, name)["call"](ask))
    answers = []
    work = run(call, "/usr/lib/python3/dist-packages/torch/worker.py")["call"]
    thread = threading.Thread(target=lambda: None)
    thread.run = types.MethodType(
        run("def go(self):\n    out.append(call(ask))\n", "/x/lib/python3.11/threading.py",
            out=answers, call=work, ask=ask)["go"], thread)
    thread.start()
    thread.join()
    tell("None", answers[0])


def paths():
    """Paths with all kinds of characters, and a path that is too long and is truncated."""
    for name in ("/home/jörg/a.py", "/home/дом/b.py", "/home/🜂/c.py", 'quote".py'):
        tell(f"{name}:1 <module>", run("x = ask()", name, ask=ask)["x"])
    answer = run("x = ask()", "/deep" * 500 + "/train.py", ask=ask)["x"].decode()
    assert answer.startswith("...") and answer.endswith("/deep/train.py:1 <module>"), answer
    assert len(answer) < 1024
    answer = run("x = ask()", "/ü" * 900 + "/train.py", ask=ask)["x"].decode()
    assert answer.startswith("...") and answer.endswith("/ü/train.py:1 <module>"), answer


def again():
    """Code objects are created, run and freed in a loop. A new code object often has the address of
    a freed code object, and so have its tables."""
    wrong = 0
    for i in range(6000):
        above, inside = i % 7, i // 7 % 5
        # Each code object has a line table of the same length and with the same first line, but with other
        # lines.
        body = ["    x = 1\n", "\n"] if i % 2 else ["\n", "    x = 1\n"]
        source = "\n" * above + "def g(ask):\n" + "".join(body) * (inside + 1)
        source += "    return ask()\n"
        line = above + 1 + 2 * (inside + 1) + 1
        wrong += run(source, "<again>")["g"](ask).decode() != f"<again>:{line} g"
    for i in range(3000):
        # Each code object has a line table of the same length, which differs only in the middle.
        lines = ["    x = 1\n"] * 40
        lines[i % 40] = "\n    x = 1\n"
        lines[(i * 7) % 40] = "    return ask()\n"
        line = "".join(["def g(ask):\n", *lines]).split("\n").index("    return ask()") + 1
        source = "".join(["def g(ask):\n", *lines])
        wrong += run(source, "<again>")["g"](ask).decode() != f"<again>:{line} g"
    tell("0", str(wrong).encode())


def long():
    """A function has many lines, and asks for its line at many of them. The function jumps back over more
    than 127 lines."""
    lines = ["def g(ask, out):\n", "    for _ in range(2):\n"]
    for i in range(4000):
        lines.append("        out.append(ask())\n" if i % 100 == 0 else "        x = [1,\n")
        if i % 100:
            lines.append("\n" * (i % 300) + "             2]\n")
    source = "".join(lines)
    answers = []
    run(source, "long.py")["g"](ask, answers)
    expected = [i for i, line in enumerate(source.split("\n"), 1) if "ask()" in line and i > 1]
    got = [int(a.decode().split(":")[1].split(" ")[0]) for a in answers]
    tell("True", str(got == expected * 2).encode())


def tables():
    """Compares every instruction of some big modules with Python's own line numbers."""
    form = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2
    checked = wrong = 0
    codes = []

    def collect(code):
        codes.append(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                collect(constant)

    for module in (asyncio.base_events, dis, threading, contextlib, argparse(), typing()):
        with open(module.__file__, encoding="utf-8") as f:
            collect(compile(f.read(), module.__file__, "exec"))
    for code in codes:
        table = code.co_linetable if form else code.co_lnotab
        if form:
            spans = [s for s in code.co_lines() if s[2] is not None and s[1] > s[0]]
        else:
            starts = [*dis.findlinestarts(code), (len(code.co_code), None)]
            spans = [(a[0], b[0], a[1]) for a, b in zip(starts, starts[1:])]
        for start, end, line in spans:
            for offset in {start, end - 2}:
                checked += 1
                wrong += line != probe.probe_find(
                    form, table, len(table), code.co_firstlineno, offset
                )
    tell("True 0", f"{checked > 5000} {wrong}".encode())


def argparse():
    import argparse as module

    return module


def typing():
    import typing as module

    return module


def threads():
    """Many threads ask for their lines at once. Each thread gets its own lines, also lines that were never
    asked for before."""
    wrong = []

    def work(number):
        for i in range(400):
            name = f"{number}-{i % 50}.py"
            source = "\n" * (i % 11) + "x = ask()"
            answer = run(source, name, ask=ask)["x"].decode()
            if answer != f"{name}:{i % 11 + 1} <module>":
                wrong.append(answer)

    every = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in every:
        thread.start()
    for thread in every:
        thread.join()
    tell("[]", str(wrong[:3]).encode())


def many():
    """Asks for more lines than syncline's memory holds. Beyond the limit there is no line, but
    never a wrong line."""
    wrong = lost = 0
    for i in range(80000):
        answer = run("x = ask()", f"/a/path/that/takes/some/room/{i}.py", ask=ask)["x"]
        lost += answer is None
        wrong += answer is not None and not answer.decode().endswith(f"/{i}.py:1 <module>")
    tell("0 True", f"{wrong} {lost > 0}".encode())


def depth():
    def outer():
        return middle()  # at: outer

    def middle():
        return run("def f(g):\n    return g()\n", "/x/site-packages/torch/a.py")["f"](inner)

    def inner():
        return ask()

    print(outer().decode())


def interpreters():
    """Code in a sub-interpreter gets no line, or the right line."""
    try:
        import _testcapi
    except ImportError:
        return
    code = f"""
import ctypes
probe = ctypes.CDLL({sys.argv[1]!r})
probe.probe_line.restype = ctypes.c_char_p
probe.probe_line()
"""
    _testcapi.run_in_subinterp(code)
    tell("interpreters", ask())  # at: interpreters


def at_the_end():
    """Threads still ask for lines while Python ends."""

    def work():
        while True:
            for _ in range(50):
                probe.probe_cost(100)

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()


if __name__ == "__main__":
    globals()[sys.argv[2]]()

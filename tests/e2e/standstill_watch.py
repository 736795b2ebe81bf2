"""Watches every processor: prints when a sleep on it that took too long was over, on
time.monotonic()'s clock; until it is killed. A program of its own, since a test's may be busy for as
long without a look at another thread (see standstill.py)."""
import os
import threading
import time

STEP_S, LATE_S = 0.05, 0.4


def watch(processor: int) -> None:
    os.sched_setaffinity(0, {processor})  # of this thread
    while True:
        begin = time.monotonic()
        time.sleep(STEP_S)
        if time.monotonic() - begin > STEP_S + LATE_S:
            os.write(1, b"%f\n" % time.monotonic())  # whole, beside those of others


if __name__ == "__main__":
    for one in os.sched_getaffinity(0):
        threading.Thread(target=watch, args=[one]).start()

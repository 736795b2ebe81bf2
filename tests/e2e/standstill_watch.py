"""Watches every processor with short sleeps until it is killed. Prints the time (of time.monotonic()) at
which a sleep ended much too late. It is a separate program because a test's own process may be too busy to
schedule a watching thread (see standstill.py)."""
import os
import threading
import time

STEP_S, LATE_S = 0.05, 0.4


def watch(processor: int) -> None:
    os.sched_setaffinity(0, {processor})  # applies to this thread
    while True:
        begin = time.monotonic()
        time.sleep(STEP_S)
        if time.monotonic() - begin > STEP_S + LATE_S:
            os.write(1, b"%f\n" % time.monotonic())  # one write, so lines of several watchers are not mixed


if __name__ == "__main__":
    for one in os.sched_getaffinity(0):
        threading.Thread(target=watch, args=[one]).start()

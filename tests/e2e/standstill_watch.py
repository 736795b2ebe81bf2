"""Watches every processor with short sleeps until it is killed. Prints the time (of
time.monotonic()) at which a sleep ended much too late. standstill.py starts this program. It is a
separate process, because a thread of the test's own process may be delayed by the other threads of
that process."""
import os
import threading
import time

STEP_S, LATE_S = 0.05, 0.4


def watch(processor: int) -> None:
    os.sched_setaffinity(0, {processor})  # pins only this thread to the processor
    while True:
        begin = time.monotonic()
        time.sleep(STEP_S)
        if time.monotonic() - begin > STEP_S + LATE_S:
            os.write(1, b"%f\n" % time.monotonic())  # one write, so lines of several watchers are not mixed


if __name__ == "__main__":
    for one in os.sched_getaffinity(0):
        threading.Thread(target=watch, args=[one]).start()

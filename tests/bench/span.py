# SPDX-License-Identifier: MIT
"""Cost of a span in Python: `span.py WHAT BATCHES`, nanoseconds of processor time of the quickest and of the median batch.

WHAT: nothing (the loop alone), flowtap, dftracer. A batch is 1000 spans around nothing.
"""

import statistics
import sys
import time

BATCH = 1000


def nothing():
    for _ in range(BATCH):
        pass


def flowtap():
    from flowtap import span
    for _ in range(BATCH):
        with span("span"):
            pass


def dftracer():
    from dftracer.python import dft_fn
    for _ in range(BATCH):
        with dft_fn("bench", name="span"):
            pass


def main():
    what, batches = {f.__name__: f for f in (nothing, flowtap, dftracer)}[sys.argv[1]], int(sys.argv[2])
    log = None
    if what is dftracer:
        from dftracer.python import dftracer as tracer
        log = tracer.initialize_log(logfile=sys.argv[3], data_dir="all", process_id=1)
    costs = []
    for _ in range(batches):
        before = time.thread_time_ns()
        what()
        costs.append((time.thread_time_ns() - before) / BATCH)
    if log is not None:
        log.finalize()
    print(f"{min(costs):.1f} {statistics.median(costs):.1f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Uses all of the flowtap package; tests/integration/test_python.py knows what is to be in the trace."""

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading

import flowtap


@flowtap.trace
def function(x):
    """Says something."""
    return x + 1


@flowtap.trace(name="named", category="compute", kernel="fft")
def other():
    raise KeyError("out of a span")


@flowtap.trace
def generator(n):
    got = []
    for i in range(n):
        got.append((yield i))
    return got


@flowtap.trace
async def coroutine():
    await asyncio.sleep(0)
    return 5


@flowtap.trace
async def async_generator():
    for i in range(2):
        yield i


@flowtap.trace(category="model")
class Model:
    def __init__(self):
        self.x = 1

    def forward(self):
        return self.x

    @staticmethod
    def static():
        return 2

    @classmethod
    def made(cls):
        return cls()


def spans():
    with flowtap.span("outer"):
        with flowtap.span("inner", category="data", batch=3, rate=0.5, path="a/b", flag=True, large=2**70) as s:
            s.arg(bytes=10, other=None)
    with flowtap.span("cancelled") as s:
        s.cancel()
    with flowtap.span("odd \udcff name"):
        pass
    with flowtap.span("many", **{f"k{i}": i for i in range(20)}):
        pass


async def drive():
    assert await coroutine() == 5
    assert [i async for i in async_generator()] == [0, 1]


def decorated():
    assert function(1) == 2 and function.__doc__ == "Says something."
    try:
        other()
    except KeyError:
        pass
    steps = generator(2)
    assert [next(steps), steps.send("a")] == [0, 1]
    try:
        steps.send("b")
    except StopIteration as stop:
        assert stop.value == ["a", "b"]
    asyncio.run(drive())
    assert Model.made().forward() == 1 and Model.static() == 2
    loader = flowtap.iterate([1, 2, 3], "fetch", epoch=1)
    assert len(loader) == 3 and list(loader) == [1, 2, 3]


def tags():
    flowtap.tag(epoch=1, phase="train")
    flowtap.instant("tagged")
    with flowtap.tag(phase="validate", extra="x"):
        flowtap.instant("scoped")
    flowtap.instant("back")
    flowtap.tag(epoch=None, phase=None)
    flowtap.instant("cleared")
    flowtap.process_tag(model="resnet")
    thread = threading.Thread(target=lambda: (flowtap.thread_name("second"), flowtap.instant("in thread")))
    thread.start()
    thread.join()


def points():
    flowtap.instant("point", category="c", why="x")
    flowtap.counter("queue", 7)
    flowtap.counter("loss", 0.25, category="train")
    flowtap.begin_async(5, "request", category="net")
    thread = threading.Thread(target=lambda: flowtap.end_async(5, status=200))
    thread.start()
    thread.join()


def work(i):
    with flowtap.span("work", index=i):
        return i


def children():
    with flowtap.tag(step=9):
        pid = os.fork()
        if pid == 0:
            flowtap.instant("in fork")
            os._exit(0)
        os.waitpid(pid, 0)
    flowtap.inherit(run="nightly")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(work, range(4)) == [0, 1, 2, 3]
        pool.close()
        pool.join()
    subprocess.run([sys.executable, "-c", "import flowtap; flowtap.instant('in program')"], check=True)


if __name__ == "__main__":
    for part in (spans, decorated, tags, points, children):
        part()
    print(flowtap._impl.__name__, flowtap.recording())

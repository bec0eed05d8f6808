# SPDX-License-Identifier: MIT
"""An application's own spans, counters and tags in a Flowtap trace.

They stand beside the calls that the program makes, on the same clock. In a process that is not traced (no
``libflowtap-preload.so``, or ``FLOWTAP`` not 1) all of this does nothing, and costs next to nothing.

>>> import flowtap
>>> with flowtap.span("load", category="data", batch=3):
...     data = sum(range(10))
>>> @flowtap.trace
... def step(x):
...     return x + 1
>>> [step(batch) for batch in flowtap.iterate([1, 2], "fetch")]
[2, 3]
>>> with flowtap.tag(epoch=1):
...     flowtap.counter("loss", 0.5)

Categories ``compute``, ``io`` and ``data`` have a meaning in ``flowtap summary``: compute time, and the application's own
I/O. A span belongs to the thread that it is in; names should be few, and what varies belongs into arguments or tags.
Values of arguments are integers, floats and texts; of others, ``str(value)``. At most 16 arguments are kept.
"""

import functools
import inspect
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

try:
    if os.environ.get("FLOWTAP_PURE"):
        raise ImportError("asked for")
    from . import _native as _impl
except ImportError:
    from . import _pure as _impl  # type: ignore[no-redef]

__version__ = "0.1.0"
__all__ = ["span", "trace", "iterate", "tag", "process_tag", "inherit", "thread_name", "instant", "counter", "begin_async",
           "end_async", "recording"]

_THREAD, _PROCESS = 0, 1

span = _impl.span
"""``span(name, category="app", **args)``: a context manager; the time in it is a span of the trace.

``arg(**args)`` adds arguments while it is open, ``cancel()`` leaves it out of the trace.

>>> with span("read", category="io") as s:
...     s.arg(bytes=4096)
"""

instant = _impl.instant
"""``instant(name, category="app", **args)``: a point in time.

>>> instant("early stop", category="training", reason="plateau")
"""

recording = _impl.recording
"""Whether what is called now is recorded: for what costs something to find out.

>>> recording()
False
"""


def counter(name: str, value: float, category: str = "app") -> None:
    """A number as it stands now: an integer (64 bits) or a float.

    >>> counter("queue", 7)
    """
    _impl.counter(category, name, value)


def begin_async(id: int, name: str, category: str = "app") -> None:
    """Begins a span that any thread of the process may end, by the same id (0 to 2**64 - 1).

    >>> begin_async(17, "request")
    >>> end_async(17, status=200)
    """
    _impl.begin_async(id, category, name)


def end_async(id: int, **args: Any) -> None:
    """Ends it; see begin_async()."""
    _impl.end_async(id, **args)


class _Tagged:
    """What tags were before; as a context manager it puts them back."""

    __slots__ = ("_before",)

    def __init__(self, before: List[Tuple[str, Optional[str]]]) -> None:
        self._before = before

    def __enter__(self) -> "_Tagged":
        return self

    def __exit__(self, *exc: Any) -> None:
        for key, value in self._before:
            _impl.set_tag(_THREAD, key, value)


def _check(tags: Dict[str, Any]) -> None:
    for key in tags:
        if not key or "=" in key:
            raise ValueError(f"no key of a tag: {key!r}")


def tag(**tags: Any) -> _Tagged:
    """Tags hold for everything that this thread does from here on, calls too, until they are set anew; None clears.

    A span has those that hold where it ends: in one ``with`` the tag stands before the span.

    As a context manager: until its end, when those from before hold again. Forked children begin with them; for children
    that are started otherwise see inherit().

    >>> _ = tag(epoch=1, phase="train")
    >>> with tag(phase="validate"):
    ...     pass
    """
    _check(tags)
    before = [(key, _impl.get_tag(_THREAD, key)) for key in tags]
    for key, value in tags.items():
        _impl.set_tag(_THREAD, key, None if value is None else str(value))
    return _Tagged(before)


def process_tag(**tags: Any) -> None:
    """The same for all threads of the process; they also stand with the process itself: its metadata.

    >>> process_tag(model="resnet50")
    """
    _check(tags)
    for key, value in tags.items():
        _impl.set_tag(_PROCESS, key, None if value is None else str(value))


def inherit(**tags: Any) -> None:
    """Tags of this process, and of every process that it starts from now on, by spawn or as another program.

    They go into FLOWTAP_TAGS of the environment, so neither key nor value may contain a comma.

    >>> inherit(run="nightly")
    >>> "run=nightly" in os.environ["FLOWTAP_TAGS"].split(",")
    True
    >>> inherit(run=None)
    """
    _check(tags)
    for key, value in tags.items():
        if "," in key or (value is not None and "," in str(value)):
            raise ValueError(f"a comma in {key!r}: it cannot be inherited")
    kept = [one for one in os.environ.get("FLOWTAP_TAGS", "").split(",") if one and one.split("=", 1)[0] not in tags]
    kept += [f"{key}={value}" for key, value in tags.items() if value is not None]
    os.environ["FLOWTAP_TAGS"] = ",".join(kept)
    process_tag(**tags)


def thread_name(name: str) -> None:
    """The name of this thread: its tag ``thread``.

    >>> thread_name("prefetch")
    """
    tag(thread=name)


class _Iterated:
    __slots__ = ("_iterable", "_name", "_category", "_args")

    def __init__(self, iterable: Iterable[Any], name: str, category: str, args: Dict[str, Any]) -> None:
        self._iterable, self._name, self._category, self._args = iterable, name, category, args

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        iterator = None
        while True:
            step = span(self._name, category=self._category, **self._args)
            with step:
                if iterator is None:
                    iterator = iter(self._iterable)
                try:
                    item = next(iterator)
                except StopIteration:
                    step.cancel()
                    return
            yield item


def iterate(iterable: Iterable[Any], name: str = "fetch", category: str = "data", **args: Any) -> _Iterated:
    """The same items; the time that each takes to come is a span: of the first one with the making of the iterator.

    >>> for batch in iterate(["a", "b"], "fetch"):
    ...     print(batch)
    a
    b
    """
    return _Iterated(iterable, name, category, args)


def _trace_generator(target: Any, name: str, category: str, args: Dict[str, Any]) -> Any:
    """Each step is a span: the time in the generator, not that of whoever asks."""
    @functools.wraps(target)
    def wrapper(*positional: Any, **named: Any) -> Any:
        generator = target(*positional, **named)
        value, error = None, None
        while True:
            try:
                with span(name, category=category, **args):
                    item = generator.send(value) if error is None else generator.throw(error)
            except StopIteration as stop:
                return stop.value
            value, error = None, None
            try:
                value = yield item
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as thrown:
                error = thrown
    return wrapper


def _trace_async_generator(target: Any, name: str, category: str, args: Dict[str, Any]) -> Any:
    @functools.wraps(target)
    async def wrapper(*positional: Any, **named: Any) -> Any:
        generator = target(*positional, **named)
        value, error = None, None
        while True:
            try:
                with span(name, category=category, **args):
                    item = await (generator.asend(value) if error is None else generator.athrow(error))
            except StopAsyncIteration:
                return
            value, error = None, None
            try:
                value = yield item
            except GeneratorExit:
                await generator.aclose()
                raise
            except BaseException as thrown:
                error = thrown
    return wrapper


def _trace_async(target: Any, name: str, category: str, args: Dict[str, Any]) -> Any:
    @functools.wraps(target)
    async def wrapper(*positional: Any, **named: Any) -> Any:
        with span(name, category=category, **args):
            return await target(*positional, **named)
    return wrapper


def _trace_function(target: Any, name: str, category: str, args: Dict[str, Any]) -> Any:
    @functools.wraps(target)
    def wrapper(*positional: Any, **named: Any) -> Any:
        with span(name, category=category, **args):
            return target(*positional, **named)
    return wrapper


def _trace_class(target: Any, name: Optional[str], category: str, args: Dict[str, Any]) -> Any:
    for key, value in list(vars(target).items()):
        is_function = inspect.isfunction(value) or isinstance(value, (staticmethod, classmethod))
        if is_function and (not key.startswith("__") or key in ("__init__", "__call__")):
            setattr(target, key, trace(value, name=f"{name or target.__qualname__}.{key}", category=category, **args))
    return target


def trace(target: Any = None, *, name: Optional[str] = None, category: str = "app", **args: Any) -> Any:
    """Decorator: each call of a function is a span with its name.

    Also of async functions (from the call to the result, waiting included), of generators, async ones too (each step is a
    span), of methods, and of classes: all their methods but ``__special__`` ones (``__init__`` and ``__call__`` are among
    them).

    >>> @trace(category="compute", kernel="fft")
    ... def transform(x):
    ...     return -x
    >>> transform(1)
    -1
    >>> @trace
    ... def count():
    ...     yield from range(2)
    >>> list(count())
    [0, 1]
    """
    if target is None:
        return functools.partial(trace, name=name, category=category, **args)
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(trace(target.__func__, name=name, category=category, **args))
    if isinstance(target, type):
        return _trace_class(target, name, category, args)
    label = name or getattr(target, "__qualname__", None) or repr(target)
    if inspect.isasyncgenfunction(target):
        return _trace_async_generator(target, label, category, args)
    if inspect.iscoroutinefunction(target):
        return _trace_async(target, label, category, args)
    if inspect.isgeneratorfunction(target):
        return _trace_generator(target, label, category, args)
    return _trace_function(target, label, category, args)

# SPDX-License-Identifier: MIT
"""A PyTorch training in a Flowtap trace: what it waits for, what it computes, in which epoch and step, workers included.

>>> import torch
>>> import flowtap.torch
>>> dataset = torch.utils.data.TensorDataset(torch.arange(8.0).reshape(8, 1))
>>> model = torch.nn.Linear(1, 1)
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
>>> loader = flowtap.torch.loader(torch.utils.data.DataLoader(dataset, batch_size=4))
>>> with flowtap.torch.training(model, optimizer) as run:
...     for epoch in run.epochs(2):
...         for batch, in loader:
...             loss = model(batch).sum()
...             loss.backward()
...             optimizer.step()

Spans: ``fetch`` (category ``data``: the wait for a batch, and in workers the work on it), ``transfer`` (``transfer``),
``forward``, ``backward``, ``optimizer`` (``compute``), ``checkpoint`` and ``restore`` (``io``). Tags of all threads of the
process and of its workers: ``epoch``, ``step`` (the number of the batch in its epoch), and in workers ``worker``.

PyTorch is not needed to import this module, only to use it.
"""

import contextlib
import functools
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from . import process_tag, recording, span

__all__ = ["loader", "training", "transfer", "forward", "backward", "optimizer", "checkpoint", "Training"]


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("flowtap.torch: PyTorch is not installed here (there is no module torch)") from error
    return torch


def transfer(**args: Any) -> Any:
    """A span for moving data to a device; training() makes it for Tensor.to() and Tensor.cuda() by itself.

    >>> with transfer(bytes=4096):
    ...     pass
    """
    return span("transfer", category="transfer", **args)


def forward(**args: Any) -> Any:
    """A span for a model's forward pass, where training() does not know the model."""
    return span("forward", category="compute", **args)


def backward(**args: Any) -> Any:
    """A span for a backward pass that does not go through torch.autograd.backward()."""
    return span("backward", category="compute", **args)


def optimizer(**args: Any) -> Any:
    """A span for an optimizer's step, where training() does not know the optimizer."""
    return span("optimizer", category="compute", **args)


def checkpoint(**args: Any) -> Any:
    """A span for writing a checkpoint; training() makes it for torch.save() by itself."""
    return span("checkpoint", category="io", **args)


# ------------------------------------------------------------------------------------------------------------- workers


def _arrive(epoch: int, step: int, index: Any) -> Any:
    """In a worker, when it is told what to fetch next."""
    process_tag(epoch=epoch, step=step)
    return index


class _Told:
    """What a worker is to fetch, on its way there: it arrives as the plain index, with its epoch and step told."""

    __slots__ = ("_told",)

    def __init__(self, epoch: int, step: int, index: Any) -> None:
        self._told = (epoch, step, index)

    def __reduce__(self) -> Tuple[Callable[..., Any], Tuple[int, int, Any]]:
        return _arrive, self._told


class _Sampler:
    """A sampler whose indices carry their epoch and step to workers."""

    def __init__(self, sampler: Any, owner: Any) -> None:
        self._sampler, self._owner = sampler, owner

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        epoch = self._owner._flowtap_epoch
        for step, index in enumerate(self._sampler):
            yield _Told(epoch, step, index)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)


def _start_worker(before: Optional[Callable[[int], None]], worker: int) -> None:
    """In a worker, before its first batch."""
    from torch.utils.data._utils import fetch

    process_tag(worker=worker)
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        kind = getattr(fetch, name, None)
        if kind is not None and not hasattr(kind.fetch, "_flowtap"):
            kind.fetch = _spanned(kind.fetch, "fetch", "data", worker=worker)
    if before is not None:
        before(worker)


def _spanned(function: Callable[..., Any], name: str, category: str, **args: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*positional: Any, **named: Any) -> Any:
        with span(name, category=category, **args):
            return function(*positional, **named)
    wrapper._flowtap = True  # type: ignore[attr-defined]
    return wrapper


@contextlib.contextmanager
def _in_environment(**tags: Any) -> Iterator[None]:
    """Processes that are started as new programs begin with these tags."""
    before = os.environ.get("FLOWTAP_TAGS")
    kept = [one for one in (before or "").split(",") if one and one.split("=", 1)[0] not in tags]
    os.environ["FLOWTAP_TAGS"] = ",".join(kept + [f"{key}={value}" for key, value in tags.items()])
    try:
        yield
    finally:
        if before is None:
            del os.environ["FLOWTAP_TAGS"]
        else:
            os.environ["FLOWTAP_TAGS"] = before


# -------------------------------------------------------------------------------------------------------------- loader

_epoch: Optional[int] = None  # that training() is in


class _Steps:
    """The batches of one epoch."""

    def __init__(self, iterator: Any) -> None:
        self._iterator, self._step = iterator, 0
        try:
            self._count: Optional[int] = len(iterator)
        except TypeError:
            self._count = None  # of an iterable dataset

    def __iter__(self) -> "_Steps":
        return self

    def __len__(self) -> int:
        return len(self._iterator)

    def __next__(self) -> Any:
        process_tag(step=None if self._step == self._count else self._step)
        with span("fetch", category="data") as fetch:
            try:
                batch = next(self._iterator)
            except StopIteration:
                fetch.cancel()
                process_tag(step=None)
                raise
        self._step += 1
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


class _Loader:
    """What loader() puts before the class of a DataLoader."""

    @property
    def _index_sampler(self) -> Any:
        sampler = super()._index_sampler  # type: ignore[misc]
        return _Sampler(sampler, self) if self.num_workers > 0 else sampler  # type: ignore[attr-defined]

    def __iter__(self) -> Any:
        own = self._flowtap_epoch + 1  # type: ignore[has-type]
        self._flowtap_epoch = own if _epoch is None else _epoch
        process_tag(epoch=self._flowtap_epoch, step=0)
        with _in_environment(epoch=self._flowtap_epoch, step=0):
            return _Steps(super().__iter__())  # type: ignore[misc]


@functools.lru_cache(maxsize=None)
def _class_of(kind: type) -> type:
    return type(kind.__name__, (_Loader, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})


def loader(loader: Any) -> Any:
    """The same DataLoader once more, which shows in the trace; use it in the other's place.

    Its batches, workers, samplers and options are the same. Each time it is iterated over is an epoch, counted from 0, or
    that of the training it is in. Workers may be forked or spawned, and persistent; each batch is fetched under the tags of
    its own epoch and step, however far ahead of the training.

    >>> import torch
    >>> batches = loader(torch.utils.data.DataLoader([1, 2, 3], batch_size=2))
    >>> len(batches), [batch.tolist() for batch in batches]
    (2, [[1, 2], [3]])
    """
    torch = _torch()
    if not isinstance(loader, torch.utils.data.DataLoader):
        raise TypeError(f"flowtap.torch.loader takes a torch.utils.data.DataLoader, not {type(loader).__name__}")
    if isinstance(loader, _Loader):
        return loader
    made = object.__new__(_class_of(type(loader)))
    made.__dict__.update(loader.__dict__)
    made._iterator = None
    made._flowtap_epoch = -1
    if made.num_workers > 0:
        made.worker_init_fn = functools.partial(_start_worker, loader.worker_init_fn)
    return made


# ------------------------------------------------------------------------------------------------------------ training


def _path_of(target: Any) -> Dict[str, Any]:
    return {"path": os.fspath(target)} if isinstance(target, (str, os.PathLike)) else {}


class Training:
    """See training()."""

    def __init__(self, model: Any = None, optimizer: Any = None) -> None:
        self._model, self._optimizer = model, optimizer
        self._undo: List[Callable[[], None]] = []

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        is_own, before = name in vars(owner), getattr(owner, name)
        setattr(owner, name, functools.wraps(before)(make(before)))
        self._undo.append(lambda: setattr(owner, name, before) if is_own else delattr(owner, name))

    def _trace_model(self, model: Any) -> None:
        def make(call: Any) -> Any:
            def forward_pass(module: Any, *positional: Any, **named: Any) -> Any:
                if module is not model:
                    return call(module, *positional, **named)
                with forward():
                    return call(module, *positional, **named)
            return forward_pass
        self._replace(type(model), "__call__", make)

    def _trace_optimizer(self, optimizer_: Any) -> None:
        open_spans: List[Any] = []

        def begin(*_: Any) -> None:
            open_spans.append(optimizer())
            open_spans[-1].__enter__()

        def end(*_: Any) -> None:
            if open_spans:
                open_spans.pop().__exit__(None, None, None)

        for handle in (optimizer_.register_step_pre_hook(begin), optimizer_.register_step_post_hook(end)):
            self._undo.append(handle.remove)

    def _trace_transfers(self, torch: Any) -> None:
        def make(move: Any) -> Any:
            def moved(tensor: Any, *positional: Any, **named: Any) -> Any:
                if not recording():
                    return move(tensor, *positional, **named)
                with transfer() as one:
                    result = move(tensor, *positional, **named)
                    if result.device == tensor.device:
                        one.cancel()
                    else:
                        one.arg(bytes=tensor.numel() * tensor.element_size(), device=str(result.device))
                return result
            return moved
        for name in ("to", "cuda", "cpu"):
            self._replace(torch.Tensor, name, make)

    def __enter__(self) -> "Training":
        torch = _torch()

        def make_save(save: Any) -> Any:
            def saved(obj: Any, f: Any, *positional: Any, **named: Any) -> Any:
                with checkpoint(**_path_of(f)):
                    return save(obj, f, *positional, **named)
            return saved

        def make_load(load: Any) -> Any:
            def loaded(f: Any, *positional: Any, **named: Any) -> Any:
                with span("restore", category="io", **_path_of(f)):
                    return load(f, *positional, **named)
            return loaded

        try:
            if self._model is not None:
                self._trace_model(self._model)
            if self._optimizer is not None:
                self._trace_optimizer(self._optimizer)
            self._replace(torch.autograd, "backward", lambda before: _spanned(before, "backward", "compute"))
            self._replace(torch, "save", make_save)
            self._replace(torch, "load", make_load)
            self._trace_transfers(torch)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        global _epoch
        while self._undo:
            self._undo.pop()()
        _epoch = None
        process_tag(epoch=None, step=None)

    def epochs(self, count: Union[int, Iterable[int]]) -> Iterator[int]:
        """The numbers of the epochs, from 0 (or those that are given); each is the tag ``epoch`` until the next."""
        global _epoch
        for epoch in range(count) if isinstance(count, int) else count:
            _epoch = epoch
            process_tag(epoch=epoch, step=None)
            yield epoch
        _epoch = None


def training(model: Any = None, optimizer: Any = None) -> Training:
    """A context manager: what happens in it shows as spans, without any change of the loop.

    Calls of the model, steps of the optimizer, torch.autograd.backward() (and so Tensor.backward()), torch.save() and
    torch.load(), and copies of tensors to another device. Behind it PyTorch is as it was.

    >>> with training() as run:
    ...     list(run.epochs(2))
    [0, 1]
    """
    return Training(model, optimizer)

# SPDX-License-Identifier: MIT
"""The same as _native.c, by ctypes: for where no extension could be built. proto/annotate.h tells of the table."""

import ctypes

_INTEGER, _DOUBLE, _TEXT = 1, 2, 3
_SPAN, _INSTANT, _COUNTER, _COUNTER_DOUBLE = 0, 1, 2, 3
_ARGS_MAX = 16


class _Value(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("number", ctypes.c_double), ("text", ctypes.c_char_p)]


class _Arg(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("type", ctypes.c_uint32), ("value", _Value)]


class _Mark(ctypes.Structure):
    _fields_ = [("ticks", ctypes.c_uint64), ("image", ctypes.c_uint32)]


class _Event(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("arg_count", ctypes.c_uint32), ("category", ctypes.c_char_p),
                ("name", ctypes.c_char_p), ("args", ctypes.POINTER(_Arg)), ("value", ctypes.c_int64), ("mark", _Mark)]


# These keep the interpreter's lock: none of them waits.
_do = ctypes.PYFUNCTYPE


class _Table(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("is_off", ctypes.POINTER(ctypes.c_uint8)),
                ("mark", _do(None, ctypes.POINTER(_Mark))), ("event", _do(None, ctypes.POINTER(_Event))),
                ("set_tag", _do(None, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_char_p)),
                ("get_tag", _do(ctypes.c_int, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)),
                ("begin_async", _do(None, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p)),
                ("end_async", _do(None, ctypes.c_uint64, ctypes.POINTER(_Arg), ctypes.c_uint32))]


def _find():
    try:
        return _Table.in_dll(ctypes.CDLL(None), "flowtap_annotate_1")
    except (ValueError, OSError):
        return None


_table = _find()


def _bytes(text):
    return str(text).encode("utf-8", "surrogateescape")


def _is_on():
    return _table is not None and not _table.is_off[0]


def _put(arg, key, value):
    arg.key = _bytes(key)
    if isinstance(value, int) and -2**63 <= value < 2**63:
        arg.type, arg.value.integer = _INTEGER, int(value)
    elif isinstance(value, float):
        arg.type, arg.value.number = _DOUBLE, value
    else:
        arg.type, arg.value.text = _TEXT, _bytes(value)


_NONE = (_Arg * 1)()


def _list(args):
    if not args:
        return _NONE, 0
    kept = list(args.items())
    out = (_Arg * max(1, min(len(kept), _ARGS_MAX)))()
    for arg, (key, value) in zip(out, kept):
        _put(arg, key, value)
    return out, min(len(kept), _ARGS_MAX + 1)


def _event(kind, category, name, args, value=0, mark=None):
    out, count = _list(args)
    event = _Event(kind, count, _bytes(category), _bytes(name), out, value, mark or _Mark())
    _table.event(ctypes.byref(event))


class span:
    __slots__ = ("_name", "_category", "_args", "_mark")

    def __init__(self, name, category="app", **args):
        self._name, self._category, self._args, self._mark = name, category, args, None

    def __enter__(self):
        if _is_on():
            self._mark = _Mark()
            _table.mark(ctypes.byref(self._mark))
        return self

    def __exit__(self, *exc):
        mark, self._mark = self._mark, None
        if mark is not None and mark.ticks:
            _event(_SPAN, self._category, self._name, self._args, mark=mark)

    def arg(self, **args):
        self._args.update(args)

    def cancel(self):
        self._mark = None


def recording():
    if not _is_on():
        return False
    mark = _Mark()
    _table.mark(ctypes.byref(mark))
    return mark.ticks != 0


def instant(name, category="app", **args):
    if _is_on():
        _event(_INSTANT, category, name, args)


def counter(category, name, value):
    if not _is_on():
        return
    if isinstance(value, int) and -2**63 <= value < 2**63:
        _event(_COUNTER, category, name, {}, int(value))
    else:
        bits = ctypes.c_int64.from_buffer_copy(ctypes.c_double(float(value)))
        _event(_COUNTER_DOUBLE, category, name, {}, bits.value)


def set_tag(scope, key, value):
    if _is_on():
        _table.set_tag(scope, _bytes(key), None if value is None else _bytes(value))


def get_tag(scope, key):
    if not _is_on():
        return None
    room = ctypes.create_string_buffer(256)
    if _table.get_tag(scope, _bytes(key), room, len(room)) < 0:
        return None
    return room.value.decode("utf-8", "surrogateescape")


def begin_async(id, category, name):
    if _is_on():
        _table.begin_async(id, _bytes(category), _bytes(name))


def end_async(id, **args):
    if _is_on():
        _table.end_async(id, *_list(args))

# SPDX-License-Identifier: MIT
"""A file whose checksums hold and whose content lies: no command crashes, hangs, or gives a document that is none."""

import random

import pytest

import frames
import harness
from reading import COMMANDS, read_all

FORMS = tuple([*words, "--json"] if "--format" not in words else words for words in COMMANDS) + (["events"], ["verify"], ["info"], ["doctor"])
BITS_OF = {5: (32, True), 17: (32, True), 3: (64, True), 18: (64, True), 13: (32, False), 4: (64, False), 6: (64, False), 7: (32, False)}


def places(message, path=()):
    """Each field of the message and of those in it, repeated ones by their position."""
    for field, value in message.ListFields():
        values = enumerate(value) if field.label == field.LABEL_REPEATED else [(None, value)]
        for at, one in values:
            here = (*path, (field.name, at))
            if field.message_type:
                yield from places(one, here)
            yield here, field


def lie(message, path, field, rng):
    """Sets one field to an extreme, or leaves out or repeats what there can be many of."""
    for name, at in path[:-1]:
        message = getattr(message, name) if at is None else getattr(message, name)[at]
    name, at = path[-1]
    values = getattr(message, name)
    if field.message_type or (at is not None and rng.random() < 0.2):
        if at is None:
            message.ClearField(name)
        elif rng.random() < 0.5:
            del values[at]
        else:
            values.extend([values[at]] * rng.choice((1, 1000)))
        return
    if field.type == field.TYPE_BYTES:
        value = rng.choice((b"", b"\0", b"\xff\xfe" * 2000, b"x" * 70000))
    elif field.type == field.TYPE_BOOL:
        value = not values
    else:
        bits, is_signed = BITS_OF[field.type]
        numbers = (0, 1, 255, 65536, 2 ** 31 - 1, 2 ** (bits - 1) - 1) + ((-1, -2 ** (bits - 1)) if is_signed else (2 ** (bits - 1), 2 ** bits - 1))
        value = rng.choice(numbers)
    if at is None:
        setattr(message, name, value)
    else:
        values[at] = value


def lie_in_a_column(block, data, rng):
    """All of one column is one number."""
    at = rng.randrange(len(block.columns))
    before = sum(column.stored for column in block.columns[:at])
    column = block.columns[at]
    data = data[:before] + data[before + column.stored:]
    column.encoding, column.stored, column.wide = 0, 0, 0
    column.value = rng.choice((0, 1, 3, 0xffff, 2 ** 31, 2 ** 32 - 1, 2 ** 62, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1, rng.getrandbits(64)))
    if rng.random() < 0.7:
        del block.aggregates[:]  # which tell on it
    return data


def lying(parts, rng):
    """The file with a few lies in one of its frames."""
    chosen = rng.choice([i for i, (kind, _, _) in enumerate(parts) if kind != 5])
    out = []
    for i, (kind, message, data) in enumerate(parts):
        if i == chosen:
            message = type(message).FromString(message.SerializeToString())
            for _ in range(rng.choice((1, 1, 3))):
                if kind in (3, 6) and message.columns and rng.random() < 0.6:
                    data = lie_in_a_column(message, data, rng)
                else:
                    path, field = rng.choice(list(places(message)))
                    lie(message, path, field, rng)
        out.append(frames.put(kind, message, data))
    return b"".join(out)


@pytest.fixture(scope="module", params=["trace", "profile"])
def parts(request):
    """Frames of a real trace with processes, files, tags, spans' arguments and what was dropped: (kind, message, data) each."""
    tap = harness.Tap()
    script = "for i in 1 2 3; do cat /etc/hostname > f$i; done; cat f1 f2 f3 | sort > all; mv all list; exit 3"
    trace = tap.run(["bash", "-c", script], env={"FLOWTAP_TAGS": "a=b,c=d", "FLOWTAP_MODE": request.param}, status=3)
    (path,) = trace.flow_files()
    yield frames.take_apart(path.read_bytes())
    tap.finish(keep=False)


@pytest.mark.parametrize("count", [5, pytest.param(300, marks=pytest.mark.soak)])
def test_lies_do_no_harm(tap, parts, count):
    path = tap.folder / "lies.flow"
    answered = 0
    for seed in range(40, 40 + count):
        path.write_bytes(lying(parts, random.Random(seed)))
        results = read_all(path, FORMS)
        answered += results["summary --json"].returncode == 0
    assert answered > count // 2, "most lies leave something to read"

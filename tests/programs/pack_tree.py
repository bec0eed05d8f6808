#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small data job: packs a real directory tree into archives and reads them back, with a pool of processes.

Shards of the tree become tar.gz and zip files (workers by fork); other workers (by spawn) read each archive back and
compare every member with the file it came from. Standard library only.
"""

import argparse
import hashlib
import multiprocessing
import os
import pathlib
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile

LARGEST_FILE = 4 << 20


def choose_files(tree, limit_bytes):
    """Regular files of the tree, in a stable order, until their sizes reach the limit."""
    chosen, total = [], 0
    for folder, folders, names in os.walk(tree):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE or not os.access(path, os.R_OK):
                continue
            chosen.append(path)
            total += status.st_size
            if total >= limit_bytes:
                return chosen, total
    return chosen, total


def pack(task):
    """One shard into one archive; every second one is a zip file. Gives its path."""
    number, files, folder = task
    if number % 2:
        archive = folder / f"shard{number:02}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as out:
            for path in files:
                out.write(path)
    else:
        archive = folder / f"shard{number:02}.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as out:
            for path in files:
                out.add(path)
    return archive


def members(archive):
    """(name, content) of each regular member."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as box:
            for info in box.infolist():
                yield info.filename, box.read(info)
    else:
        with tarfile.open(archive) as box:
            for info in box:
                if info.isfile():
                    yield info.name, box.extractfile(info).read()


def check(archive):
    """Reads an archive back: how many members it has, how many differ from their file."""
    count = different = 0
    for name, content in members(archive):
        count += 1
        with open(os.path.join("/", name), "rb") as original:
            if hashlib.sha256(original.read()).digest() != hashlib.sha256(content).digest():
                different += 1
    return count, different


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", nargs="?", default="/usr/share", help="directory to pack (%(default)s)")
    parser.add_argument("--megabytes", type=int, default=96, help="stop after so much (%(default)s)")
    parser.add_argument("--shards", type=int, default=8, help="number of archives (%(default)s)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2, help="processes in a pool (%(default)s)")
    options = parser.parse_args()

    files, total = choose_files(os.path.abspath(options.tree), options.megabytes << 20)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pack-tree-"))
    try:
        tasks = [(number, files[number :: options.shards], folder) for number in range(options.shards)]
        with multiprocessing.get_context("fork").Pool(options.workers) as pool:
            archives = pool.map(pack, tasks, chunksize=1)
        with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
            results = pool.map(check, archives, chunksize=1)
        packed = sum(path.stat().st_size for path in archives)
    finally:
        shutil.rmtree(folder)

    count, different = (sum(column) for column in zip(*results))
    print(f"{count} files, {total / 1e6:.1f} MB -> {len(archives)} archives, {packed / 1e6:.1f} MB; "
          f"read back: {count - different} equal, {different} different")
    return 0 if count and not different else 1


if __name__ == "__main__":
    sys.exit(main())

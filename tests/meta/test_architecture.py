# SPDX-License-Identifier: MIT
"""The second architecture is kept compiling."""

import shutil

import pytest
import tree

COMPILER = "aarch64-linux-gnu-gcc"
SOURCES = tree.sources(".c", ".S", under="client/shim/") + [
    p for p in tree.sources(".c", under="proto/") if "<zlib.h>" not in tree.text(p) and ".pb-c.h" not in tree.text(p)]


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_it_compiles_for_aarch64(source, tmp_path):
    if not shutil.which(COMPILER):
        pytest.skip(f"{COMPILER} is not installed")
    tree.run(COMPILER, "-std=gnu17", "-D_GNU_SOURCE=", '-DFT_VERSION="0"', "-O1", "-fPIC", "-ftls-model=initial-exec",
             "-fno-builtin", "-Wall", "-Wextra", "-Werror", *tree.INCLUDES, "-c", "-o", tmp_path / "out.o", source)

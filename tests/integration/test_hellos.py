# SPDX-License-Identifier: MIT
"""What a process says of itself, short and long, and what its children take over of it."""

import os

import pytest

PROGRAM = r"""
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int touch(void)
{
    return close(open("/dev/null", O_WRONLY)) != 0;
}
/* `raw`: not by way of a wrapper of fork. Down to a grandchild. */
static int make(int raw, const char *folder, int depth)
{
    int status;
    pid_t pid = raw ? (pid_t)syscall(SYS_clone, 17, 0, 0, 0, 0) : fork();
    if (pid == 0)
        _exit((folder != NULL && chdir(folder) != 0) || touch() || (depth > 0 && make(raw, NULL, depth - 1)));
    return waitpid(pid, &status, 0) != pid || status != 0;
}
int main(int argc, char **argv)
{
    const char *folder = strcmp(argv[2], "-") != 0 ? argv[2] : NULL;
    return argc < 3 || touch() || make(strcmp(argv[1], "raw") == 0, folder, 1) || make(strcmp(argv[1], "raw") == 0, NULL, 0);
}
"""
# Behind them is a struct of 256 bytes, and other items; the first page ends somewhere in between.
WORDS = {"short": [], "fills_a_page": ["x" * 3000], "longer_than_a_page": ["y" * 5000], "long": ["z" * 999] * 25}


@pytest.mark.parametrize("folder", ["here", "far"])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("how", ["fork", "raw"])
def test_children_are_what_their_parent_is(tap, how, words, folder):
    program = tap.compiled("hellos", PROGRAM)
    far = tap.work
    while folder == "far" and len(str(far)) < 3500:
        far = far / ("d" * 200)
    for place in reversed([far, *far.parents]):
        if not place.exists():
            place.mkdir()
    argv = [str(program), how, "-" if folder == "here" else str(far), *WORDS[words]]
    trace = tap.run(argv)
    processes = trace.processes()
    assert len(processes) == 4 and not trace.gaps("not_attached"), processes
    for process in processes:
        assert process["argv"] == argv and process["exe"] == os.path.realpath(program)
    here, far = str(tap.work), str(far) # what it was when the process attached: that of a grandchild
    assert sorted(p["cwd"] for p in processes) == sorted([here, here, here, far])

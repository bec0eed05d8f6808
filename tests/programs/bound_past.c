// SPDX-License-Identifier: MIT
// bound_past HOW LIBRARY: opens it (plain, deep, now, space) and calls its function read_file, 0 where that read something.
// LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *library = NULL;
    if (argc < 3)
        return 2;
    if (!strcmp(argv[1], "space"))
        library = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
    else
        library = dlopen(argv[2], strcmp(argv[1], "plain") ? RTLD_NOW | RTLD_DEEPBIND : RTLD_NOW);
    int (*read_file)(void) = library ? (int (*)(void))dlsym(library, "read_file") : NULL;
    return read_file ? read_file() : 3;
}

// SPDX-License-Identifier: MIT
// Exceptions out of callbacks of libc that made calls, from a thread and from main; then more calls.
#include "counted.h"

#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <search.h>
#include <sys/stat.h>

#include <stdexcept>
#include <thread>

static void thrown(const char *where)
{
    counted_touch(where);
    throw std::runtime_error(where);
}

static int compare(const void *, const void *)
{
    thrown("compare");
    return 0;
}

static int visit(const char *, const struct stat *, int, struct FTW *)
{
    thrown("nftw");
    return 0;
}

static int visit_old(const char *, const struct stat *, int)
{
    thrown("ftw");
    return 0;
}

static int filter(const struct dirent *)
{
    thrown("scandir");
    return 1;
}

static int same(const void *, const void *)
{
    return 0;
}

static void walk(const void *, VISIT, int)
{
    thrown("twalk");
}

static void in_sort()
{
    int numbers[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    qsort(numbers, 8, sizeof *numbers, compare);
}

static void in_search()
{
    int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)!bsearch(numbers, numbers, 8, sizeof *numbers, compare);
}

static void in_walk()
{
    nftw(".", visit, 4, FTW_PHYS);
}

static void in_old_walk()
{
    ftw(".", visit_old, 4);
}

static void in_scan()
{
    struct dirent **names;
    scandir(".", &names, filter, alphasort);
}

static void in_tree()
{
    static int number;
    void *root = nullptr;
    tsearch(&number, &root, same);
    twalk(root, walk);
}

static void all()
{
    static void (*const callers[])() = {in_sort, in_search, in_walk, in_old_walk, in_scan, in_tree};
    for (auto caller : callers) {
        try {
            caller();
            abort();
        } catch (const std::runtime_error &) {
            counted_touch("caught");
        }
        counted_touch("after");
    }
}

int main()
{
    for (const char *name : {"compare", "nftw", "ftw", "scandir", "twalk", "caught", "after"})
        counted_of(name);
    all();
    std::thread(all).join();
    counted_print();
    return 0;
}

// SPDX-License-Identifier: MIT
#include "client/shim/root.h"

#include "client/shim/glob.h"
#include "client/shim/name.h"
#include "client/shim/reach.h"
#include "client/shim/shapes.h"

enum { FDS_NAMED = 256 };

struct ft_root *ft_root;

/* The name that `path` has from the root before all; 0: it does not fit, or nobody knows. Once the call is made it is too late. */
static int find(struct ft_root *to, const char *path)
{
    const char *before;
    size_t room = sizeof(to->text), n = ft_length_most(path, room), at;
    if (n > 0 && path[0] == '/') {
        at = ft_root_before(path, n, &before);
        ft_copy(to->text, before, at);
    } else {
        long got = ft_sys(SYS_getcwd, to->text, room);
        if (got <= 1 || to->text[0] != '/')
            return 0;
        at = (size_t)got - 1;
        size_t shift = ft_root_before(to->text, at, &before);
        if (shift + at + 1 > room)
            return 0;
        for (size_t i = at; i-- > 0;)
            to->text[shift + i] = to->text[i];
        ft_copy(to->text, before, shift);
        at += shift;
        to->text[at++] = '/';
    }
    if (at + n > room)
        return 0;
    ft_copy(to->text + at, path, n);
    to->n = ft_glob_squeeze(to->text, at + n);
    if (to->n == 1) /* the root itself */
        to->n = 0;
    return 1;
}

/* What must be asked for before: what the kernel calls descriptors, by way of /proc, and the directory, which stays. */
static struct ft_root *prepare(const char *path)
{
    static struct ft_root *pages[2];
    struct ft_reach reach = {0};
    if (ft_is_shut_in() || ft_thread.vfork_depth != 0 || path == NULL ||
        !ft_reach_text(&reach, path, FT_PATH_KEPT_BYTES))
        return NULL;
    ft_name_cwd();
    ft_fd_name_all(FDS_NAMED);
    struct ft_root **page = &pages[pages[0] != NULL && ft_root == pages[0]];
    if (*page == NULL)
        *page = ft_arena_page();
    return *page != NULL && find(*page, path) ? *page : NULL;
}

FT_EXPORT(int, chroot, (const char *path))
{
    FT_REAL(int, chroot, (const char *));
    if (!ft_enter())
        return real(path);
    struct ft_root *root = prepare(path);
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_chroot);
    int r = real(path);
    const struct ft_args args = {PATH(path), RET(STATUS)};
    ft_path_end(&state, FT_CALL_ID_chroot, &args, r);
    if (r == 0 && root != NULL)
        __atomic_store_n(&ft_root, root->n != 0 ? root : NULL, __ATOMIC_RELEASE);
    return r;
}

// SPDX-License-Identifier: MIT
#include "client/shim/environment.h"

#include "client/shim/attach_limits.h"
#include "client/shim/reach.h"
#include "client/shim/settings.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES_MAX = 8192, PRELOAD_BYTES_MAX = 16384 };

/* 1 where both are the same variable: equal up to and with the '='. */
static int is_same_variable(const char *a, const char *b)
{
    while (*a != 0 && *a != '=' && *a == *b)
        a++, b++;
    return *a == '=' && *b == '=';
}

static int has_entry(const char *list, const char *entry)
{
    size_t n = ft_length(entry);
    while (*list != 0) {
        size_t length = 0;
        while (list[length] != 0 && list[length] != ':' && list[length] != ' ')
            length++;
        if ((length == n && ft_is_equal(list, entry, n)) || ft_settings_is_library(list, length))
            return 1;
        list += list[length] != 0 ? length + 1 : length;
    }
    return 0;
}

static int is_variable(const char *variable, const char *name)
{
    return ft_has_prefix(variable, name) && variable[ft_length(name)] == '=';
}

static int is_value(const char *variable, const char *value)
{
    while (*variable != '=')
        variable++;
    size_t n = ft_length(value);
    return ft_length(++variable) == n && ft_is_equal(variable, value, n);
}

static void look_at_preload(struct ft_environment *e, const char *variable, size_t index)
{
    const char *list = variable + sizeof("LD_PRELOAD=") - 1;
    e->preload_index = index;
    e->preload_bytes = has_entry(list, ft_saved.preload) ? 0 : ft_length(variable) + ft_length(ft_saved.preload) + 2;
}

static void look_at(struct ft_environment *e, const char *variable, size_t index)
{
    if (variable[0] == 'L' && is_variable(variable, "LD_PRELOAD"))
        look_at_preload(e, variable, index);
    if (variable[0] != 'F' || !ft_has_prefix(variable, "FLOWTAP"))
        return;
    if (is_variable(variable, "FLOWTAP") && e->on_index == SIZE_MAX) {
        e->on_index = index;
        e->is_off |= !is_value(variable, "1");
    }
    if (is_variable(variable, "FLOWTAP_MODE"))
        e->is_off |= is_value(variable, "off");
    if (is_variable(variable, "FLOWTAP_SOCKET"))
        e->is_elsewhere = !is_value(variable, ft_socket_path);
    for (unsigned i = 0; i < ft_saved.count; i++)
        if (is_same_variable(variable, ft_saved.variables[i]))
            e->missing &= ~(1u << i);
}

/* The list is read before the kernel has seen it. */
static int is_readable(char *const *envp)
{
    struct ft_reach entries = {0}, text = {0};
    if (envp == NULL || ft_is_shut_in())
        return 1;
    for (; ft_reach_bytes(&entries, envp, sizeof(*envp)); envp++) {
        if (*envp == NULL)
            return 1;
        if (!ft_reach_text(&text, *envp, SIZE_MAX))
            return 0;
    }
    return 0;
}

static int check_sandboxed(struct ft_environment *e)
{
    e->is_sandboxed = 1;
    e->preload_bytes = e->missing = 0;
    e->follow = FT_FOLLOW_SANDBOX;
    return e->on_index != SIZE_MAX && !e->is_off && e->count <= ENTRIES_MAX;
}

/* What hinders the new image; `is_complete`: no variable is missing. */
static enum ft_follow follow_of(const struct ft_environment *e, int is_complete)
{
    if (e->is_off)
        return FT_FOLLOW_OFF;
    if (!is_complete &&
        (!ft_process.follow_clean_env || e->count > ENTRIES_MAX || e->preload_bytes > PRELOAD_BYTES_MAX))
        return FT_FOLLOW_CLEANED;
    if (ft_sys(SYS_faccessat, FT_AT_FDCWD, ft_saved.preload, R_OK) != 0)
        return FT_FOLLOW_UNREACHABLE;
    if (e->is_elsewhere)
        return FT_FOLLOW_ELSEWHERE;
    if (ft_sys(SYS_faccessat, FT_AT_FDCWD, ft_socket_path, W_OK) != 0)
        return FT_FOLLOW_NO_SOCKET;
    return ft_limits_may_forbid() ? FT_FOLLOW_LIMIT : FT_FOLLOW_ORDINARY;
}

int ft_environment_check(struct ft_environment *e, char *const *envp)
{
    *e = (struct ft_environment){.preload_index = SIZE_MAX, .on_index = SIZE_MAX};
    if (ft_saved.preload == NULL || ft_saved.count == 0 || !is_readable(envp))
        return 0;
    e->missing = (1u << ft_saved.count) - 1;
    e->preload_bytes = sizeof("LD_PRELOAD=") + ft_length(ft_saved.preload);
    for (; envp != NULL && envp[e->count] != NULL; e->count++)
        look_at(e, envp[e->count], e->count);
    if (e->preload_index == SIZE_MAX)
        e->preload_index = e->count;
    if (ft_is_closed())
        return check_sandboxed(e);
    int is_complete = e->preload_bytes == 0 && e->missing == 0;
    if (ft_is_shut_in()) { /* the new image is not, but nobody can look here whether it will find us */
        e->follow = e->is_off ? FT_FOLLOW_OFF : is_complete ? FT_FOLLOW_ORDINARY : FT_FOLLOW_CLEANED;
        return 0;
    }
    e->follow = follow_of(e, is_complete);
    return !is_complete && e->follow != FT_FOLLOW_OFF && e->follow != FT_FOLLOW_CLEANED &&
           e->follow != FT_FOLLOW_UNREACHABLE;
}

static char *entry_before;

/* The program's to write on, like the rest of its environment. */
static char *sandboxed_entry(void)
{
    static const char text[] = "FLOWTAP=sandbox";
    static char entry[sizeof(text)];
    ft_copy(entry, text, sizeof(text));
    return entry;
}

static void exchange_entry(const char *from, char *to)
{
    for (size_t i = 0; from != NULL && environ != NULL && environ[i] != NULL; i++)
        if (environ[i] == from)
            environ[i] = to;
}

void ft_environment_off(void)
{
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
        if (ft_has_prefix(environ[i], "FLOWTAP=1") && environ[i][sizeof("FLOWTAP=1") - 1] == 0)
            entry_before = environ[i];
    exchange_entry(entry_before, sandboxed_entry());
}

void ft_environment_on(void)
{
    exchange_entry(sandboxed_entry(), entry_before);
}

size_t ft_environment_entries(const struct ft_environment *e)
{
    return e->count + 2 + (unsigned)__builtin_popcount(e->missing);
}

void ft_environment_build(const struct ft_environment *e, char *const *envp, char **list, char *text)
{
    size_t n = 0;
    for (; n < e->count; n++)
        list[n] = envp[n];
    if (e->is_sandboxed)
        list[e->on_index] = sandboxed_entry();
    if (e->preload_bytes != 0) {
        size_t at = 0;
        if (e->preload_index < e->count) {
            const char *given = envp[e->preload_index];
            at = ft_length(given);
            ft_copy(text, given, at);
            if (at > sizeof("LD_PRELOAD=") - 1)
                text[at++] = ':';
        } else {
            at = sizeof("LD_PRELOAD=") - 1;
            ft_copy(text, "LD_PRELOAD=", at);
        }
        ft_copy(text + at, ft_saved.preload, ft_length(ft_saved.preload) + 1);
        list[e->preload_index] = text;
        if (e->preload_index == e->count)
            n++;
    }
    for (unsigned i = 0; i < ft_saved.count; i++)
        if (e->missing & 1u << i)
            list[n++] = (char *)(uintptr_t)ft_saved.variables[i];
    list[n] = NULL;
}

void *ft_environment_take_pages(size_t bytes)
{
    long at = ft_sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at < 0 && at > -4096)
        return NULL;
    if (ft_thread.vfork_depth != 0) {
        ft_thread.vfork_pages = (void *)at;
        ft_thread.vfork_pages_bytes = bytes;
    }
    return (void *)at;
}

void ft_environment_give_pages(void *pages, size_t bytes)
{
    if (pages == NULL)
        return;
    ft_sys(SYS_munmap, pages, bytes);
    ft_thread.vfork_pages = NULL;
}

enum ft_follow ft_environment_lend(struct ft_lent *lent)
{
    struct ft_environment e;
    *lent = (struct ft_lent){.before = environ};
    if (!ft_environment_check(&e, environ))
        return e.follow;
    if (e.is_sandboxed) /* ft_environment_off has seen to it */
        return e.follow;
    size_t entries = ft_environment_entries(&e) * sizeof(char *);
    size_t bytes = entries + e.preload_bytes + 1;
    char *pages = ft_thread.vfork_depth == 0 && ft_has_one_thread() ? ft_environment_take_pages(bytes) : NULL;
    if (pages == NULL)
        return FT_FOLLOW_CLEANED;
    lent->list = (char **)(void *)pages;
    lent->bytes = bytes;
    ft_environment_build(&e, environ, lent->list, pages + entries);
    environ = lent->list;
    return e.follow;
}

void ft_environment_take_back(const struct ft_lent *lent)
{
    if (lent->list == NULL)
        return;
    if (environ == lent->list)
        environ = lent->before;
    ft_environment_give_pages(lent->list, lent->bytes);
}

// SPDX-License-Identifier: MIT
/* Which function of which library a wrapper calls, held against what objdump says of libc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "client/shim/object.h"
#include "client/shim/real.h"
#include "proto/calls.h"

static const struct call {
    unsigned id;
    const char *name;
} calls[] = {
#define FT_CALL(id, name, ...) {id, #name},
#include "proto/calls.def"
#undef FT_CALL
};
enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]) };

/* A sanitizer's runtime stands before libc with many of these functions. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_LIBC_NEXT = 0 };
#else
enum { IS_LIBC_NEXT = 1 };
#endif

static const struct link_map *libc;

static int find_libc(void **state)
{
    (void)state;
    struct link_map *map;
    void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(handle);
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    libc = map;
    return 0;
}

static const struct call *call_of(const char *name)
{
    for (size_t i = 0; i < CALL_COUNT; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

/* A line of `objdump -T`: address, flags, section, size, version (an old one in parentheses), name. */
static int read_line(const char *line, uintptr_t *address, char *version, char *name)
{
    unsigned long value;
    const char *tab = strchr(line, '\t');
    if (sscanf(line, "%lx", &value) != 1 || strstr(line, "*UND*") != NULL || tab == NULL)
        return 0;
    *address = value;
    return sscanf(tab, "%*x %63s %127s", version, name) == 2;
}

static void each_call_of_libc_is_its_default_version(void **state)
{
    (void)state;
    struct ft_object object = ft_object_of(libc);
    char command[512], line[512], version[64], name[128];
    snprintf(command, sizeof(command), "LC_ALL=C objdump -T '%s'", libc->l_name);
    FILE *listing = popen(command, "r");
    assert_non_null(listing);
    unsigned compared = 0, old = 0;
    while (fgets(line, sizeof(line), listing) != NULL) {
        uintptr_t address;
        const struct call *call;
        if (!read_line(line, &address, version, name) || (call = call_of(name)) == NULL)
            continue;
        old += version[0] == '(';
        if (version[0] == '(')
            continue;
        compared++;
        uintptr_t found = (uintptr_t)ft_object_find(&object, name, ft_object_hash(name));
        if (found != libc->l_addr + address || (IS_LIBC_NEXT && (uintptr_t)ft_real_resolve(call->id) != found))
            fail_msg("%s is not the one of %s", name, version);
    }
    assert_int_equal(pclose(listing), 0);
    assert_true(compared > 300 && old > 10);
}

static void what_is_found_is_kept(void **state)
{
    (void)state;
    const struct call *call = call_of("read");
    assert_non_null(call);
    ft_function *found = ft_real_resolve(call->id);
    assert_ptr_equal(ft_real_table[call->id], found);
    assert_ptr_equal(ft_real(call->id), found);
}

static void what_no_library_has_is_not_found(void **state)
{
    (void)state;
    struct ft_object object = ft_object_of(libc);
    assert_string_equal(object.soname, "libc.so.6");
    static const char *const names[] = {"", "rea", "reads", "no_such_call", "\xff"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_null(ft_object_find(&object, names[i], ft_object_hash(names[i])));
}

static void both_hash_tables_give_the_same(void **state)
{
    (void)state;
    struct ft_object gnu = ft_object_of(libc), sysv = gnu;
    if (gnu.gnu_hash == NULL || gnu.sysv_hash == NULL) {
        print_message("libc has one hash table\n");
        skip();
    }
    sysv.gnu_hash = NULL;
    for (size_t i = 0; i < CALL_COUNT; i++) {
        uint32_t hash = ft_object_hash(calls[i].name);
        if (ft_object_find(&gnu, calls[i].name, hash) != ft_object_find(&sysv, calls[i].name, hash))
            fail_msg("%s", calls[i].name);
    }
}

static void the_vdso_has_a_clock(void **state)
{
    (void)state;
#if defined(__x86_64__)
    assert_non_null(ft_real_in_vdso("__vdso_clock_gettime"));
#endif
    assert_null(ft_real_in_vdso("__vdso_no_such_clock"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_of_libc_is_its_default_version),
        cmocka_unit_test(what_is_found_is_kept),
        cmocka_unit_test(what_no_library_has_is_not_found),
        cmocka_unit_test(both_hash_tables_give_the_same),
        cmocka_unit_test(the_vdso_has_a_clock),
    };
    return cmocka_run_group_tests(tests, find_libc, NULL);
}

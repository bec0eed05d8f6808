// SPDX-License-Identifier: MIT
#include "client/shim/levels_rules.h"

#include "client/shim/glob.h"
#include "client/shim/object.h"
#include "client/shim/settings.h"

enum { BUILT_IN_MAX = 8, RULES_MAX = FT_SETTING_FUNCTIONS_MAX + BUILT_IN_MAX };

/* In one piece: pointers would have to be relocated in every process that starts. */
static const char built_in[] =
#define FT_LEVEL(category, library, functions) category "=" library ":" functions ";"
#include "client/shim/levels.def"
#undef FT_LEVEL
    ;

/*
 * Functions that return twice, go to another stack, unwind, or look at who called them or at registers that other
 * functions do not get. By name, of whatever library.
 */
static const char never[] = "*setjmp*,*longjmp*,*vfork,getcontext,setcontext,swapcontext,makecontext,_Unwind_*,__cxa_*,"
                            "__tls_*,_dl_*,dl*,mcount,_mcount,__fentry__,__libc_start*,_init,_fini,pthread_exit,"
                            "__gmon_start__,_ITM_*,__gxx_personality*,__cyg_profile*";

FT_TABLE static struct ft_setting_rule levels_rules[RULES_MAX];
FT_TABLE static unsigned levels_rule_count;
FT_TABLE static uint64_t levels_first_bytes[4]; /* that some rule's function may begin with */

static void note_first_byte(unsigned char byte)
{
    if (byte == '*' || byte == '?' || byte == '[' || byte == '\\')
        for (int i = 0; i < 4; i++)
            levels_first_bytes[i] = UINT64_MAX;
    else
        levels_first_bytes[byte / 64] |= UINT64_C(1) << byte % 64;
}

static void add_rules(const char *list, unsigned *ignored)
{
    const char *end = list != NULL ? list + ft_length(list) : NULL, *item;
    size_t n;
    for (unsigned count = 0; ft_setting_next(&list, end, ';', &item, &n);) {
        if (n == 0)
            continue;
        struct ft_setting_rule *rule = &levels_rules[levels_rule_count];
        if (ft_setting_use_of_rule(item, n, count, rule) == FT_SETTING_IGNORED) {
            ++*ignored;
            continue;
        }
        const char *names = rule->functions, *name;
        size_t name_n;
        while (ft_setting_next(&names, rule->functions + rule->functions_n, ',', &name, &name_n))
            if (name_n > 0)
                note_first_byte((unsigned char)name[0]);
        count++;
        levels_rule_count++;
    }
}

static const char *saved(const char *name)
{
    for (unsigned i = 0; i < ft_saved.count; i++) {
        size_t n = ft_length(name);
        if (ft_has_prefix(ft_saved.variables[i], name) && ft_saved.variables[i][n] == '=')
            return ft_saved.variables[i] + n + 1;
    }
    return NULL;
}

unsigned ft_levels_rules_read(void)
{
    unsigned ignored = 0;
    const char *levels = saved("FLOWTAP_LEVELS");
    enum ft_setting_use use = levels != NULL ? ft_setting_use_of_levels(levels) : FT_SETTING_USED;
    ignored += use == FT_SETTING_IGNORED;
    levels_rule_count = 0;
    add_rules(saved("FLOWTAP_FUNCTIONS"), &ignored);
    if (use != FT_SETTING_OFF)
        add_rules(built_in, &ignored);
    if (ignored > 0) {
        __atomic_fetch_add(&ft_head()->settings_ignored, ignored, __ATOMIC_RELAXED);
        ft_debug_say("FLOWTAP_FUNCTIONS or FLOWTAP_LEVELS: so much is ignored", (long)ignored);
    }
    return levels_rule_count;
}

static int is_library(const struct ft_setting_rule *rule, const char *library)
{
    return ft_setting_rule_is_of(rule, library, ft_length(library));
}

static int is_in_list(const char *list, size_t list_n, const char *function)
{
    return ft_setting_is_in_list(list, list_n, function, ft_length(function));
}

/* The table's row about this library that makes spans. */
static int find_built_in(const char *library, struct ft_setting_rule *rule)
{
    const char *list = built_in, *end = built_in + sizeof(built_in) - 1, *item;
    size_t n;
    while (ft_setting_next(&list, end, ';', &item, &n))
        if (ft_setting_use_of_rule(item, n, 0, rule) == FT_SETTING_USED && rule->category[0] != '-' &&
            is_library(rule, library))
            return 1;
    return 0;
}

/* In each process that starts, for each object: so only as far as most names need. */
int ft_levels_rules_want_at_start(const char *library)
{
    static const char libraries[][16] = {
#define FT_LEVEL(category, library, functions) library,
#include "client/shim/levels.def"
#undef FT_LEVEL
    };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        size_t n = 0;
        while (library[n] == libraries[i][n] && library[n] != 0)
            n++;
        if (libraries[i][n] == '*')
            return 1;
    }
    return 0;
}

int ft_levels_rules_are_given(void)
{
    return saved("FLOWTAP_FUNCTIONS") != NULL || saved("FLOWTAP_LEVELS") != NULL;
}

int ft_levels_rules_want_name(const char *function)
{
    unsigned char first = (unsigned char)function[0];
    if (!(levels_first_bytes[first / 64] >> first % 64 & 1))
        return 0;
    for (unsigned i = 0; i < levels_rule_count; i++)
        if (is_in_list(levels_rules[i].functions, levels_rules[i].functions_n, function))
            return 1;
    return 0;
}

int ft_levels_rules_find(const char *library, const char *function, struct ft_setting_rule *rule)
{
    unsigned i = 0;
    while (i < levels_rule_count && !(is_library(&levels_rules[i], library) &&
                                      is_in_list(levels_rules[i].functions, levels_rules[i].functions_n, function)))
        i++;
    if (i == levels_rule_count || is_in_list(never, sizeof(never) - 1, function))
        return 0;
    if (levels_rules[i].category_n != 0 || !find_built_in(library, rule))
        *rule = levels_rules[i];
    return 1;
}

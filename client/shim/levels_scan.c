// SPDX-License-Identifier: MIT
/*
 * When the slots of which objects are looked at: at the start where a library that a rule names is there, and from then
 * on after dlopen, when the program asks for a symbol or opens the next one. Each object once. Where no such library is
 * there and none is named by the user, all that a dlopen costs is a look at the names of what is loaded.
 * dl_iterate_phdr keeps the others from loading, unloading and looking meanwhile: one look is one call of it, and who comes
 * during that of another thread waits in ld.so, as its own dlopen would. A thread that has opened nothing never looks: to
 * ask for a symbol takes no lock that a child would find held. dl_iterate_phdr is the one function of libc that is called
 * here, as unwinders do, and only from within the program's own calls to ld.so.
 */
#include "client/shim/levels_object.h"

FT_TABLE uint8_t ft_levels_are_opened;

#if FT_LEVELS_ARE_HERE

#include "client/shim/forks.h"
#include "client/shim/hot.h"
#include "client/shim/levels_args.h"
#include "client/shim/levels_rules.h"
#include "client/shim/settings.h"

#include <sys/mman.h>

enum {
    SEEN_MAX = 1024,
    TRIES_MAX = 64,
    GET_SHADOW_STACK = 0x5005, /* ARCH_SHSTK_STATUS: <asm/prctl.h> of Linux 6.6 */
    HAS_SHADOW_STACK = 1,
};

typedef int iterate(int (*see)(struct dl_phdr_info *, size_t, void *), void *data);

FT_TABLE static uint8_t levels_are_read, levels_are_on;
FT_TABLE static uint8_t levels_tries;  /* looks for which there was no memory */
FT_TABLE static uint8_t levels_is_due; /* the last look was one */
static uint32_t levels_pid;            /* of the process that has looked */
FT_TABLE static unsigned levels_first_count;
FT_TABLE static uint64_t levels_seen[SEEN_MAX]; /* where an object was loaded that was looked at */
FT_TABLE static unsigned levels_seen_count;
FT_TABLE static uint32_t levels_noted,
    levels_first_noted; /* by number: all that ever were, and the first that is here */
FT_TABLE static unsigned long long levels_loads, levels_unloads;

static iterate *iterator(void)
{
    return (iterate *)ft_real_find("dl_iterate_phdr");
}

static int is_seen(uint64_t base)
{
    for (unsigned i = 0; i < levels_seen_count; i++)
        if (levels_seen[i] == base)
            return 1;
    return 0;
}

static void note_seen(uint64_t base)
{
    levels_noted++;
    if (levels_seen_count < SEEN_MAX)
        levels_seen[levels_seen_count++] = base;
}

static void keep_seen(unsigned count)
{
    levels_seen_count = count;
    levels_first_noted = levels_noted - count;
}

/*
 * What this thread opened may have been looked at by another one before it was relocated, when slots lead nowhere: of what
 * was noted since, all is looked at again.
 */
static int is_noted_by_others(void)
{
    return ft_thread.has_opened && ft_thread.opened_at != levels_noted;
}

static void forget_noted_by_others(void)
{
    if (!is_noted_by_others())
        return;
    int32_t before = (int32_t)(ft_thread.opened_at - levels_first_noted);
    unsigned kept = before > 0 ? (unsigned)before : 0;
    keep_seen(kept < levels_seen_count ? kept : levels_seen_count);
}

static int is_own(const struct ft_levels_object *object)
{
    uint64_t own = (uint64_t)(uintptr_t)ft_levels_entries;
    return own >= object->begin && own < object->end;
}

/* How many objects there are, and whether a new one has slots to look at. */
struct survey {
    unsigned count;
    int is_worth_it;
};

static int survey_one(struct dl_phdr_info *info, size_t size, void *data)
{
    struct survey *survey = data;
    struct ft_levels_object object;
    (void)size;
    survey->count++;
    if (is_seen(info->dlpi_addr))
        return 0;
    ft_levels_object_read(&object, info);
    if (!is_own(&object) && ft_levels_slots_are_wanted(&object))
        survey->is_worth_it = 1;
    else
        note_seen(info->dlpi_addr);
    return 0;
}

static int gather_one(struct dl_phdr_info *info, size_t size, void *data)
{
    struct ft_levels_objects *objects = data;
    (void)size;
    ft_levels_object_read(&objects->items[objects->count++], info);
    return 0;
}

/* 0: there was no memory for some of it. */
static int look_at_all(iterate *all)
{
    struct survey survey = {0};
    int is_whole = 1;
    all(survey_one, &survey);
    size_t bytes = survey.count * sizeof(struct ft_levels_object);
    if (!survey.is_worth_it)
        return 1;
    long made = ft_sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (made < 0 && made > -4096)
        return 0;
    struct ft_levels_objects objects = {.items = (struct ft_levels_object *)made, .first_count = levels_first_count};
    all(gather_one, &objects);
    for (unsigned i = 0; i < objects.count; i++) {
        uint64_t base = objects.items[i].elf.base;
        if (is_seen(base))
            continue;
        ft_levels_lack_memory = 0;
        ft_levels_slots_take(&objects, &objects.items[i]);
        if (ft_levels_lack_memory && levels_tries < TRIES_MAX)
            is_whole = 0;
        else
            note_seen(base);
    }
    ft_sys(SYS_munmap, made, bytes);
    return is_whole;
}

/* What one look of ld.so is for. */
struct look {
    iterate *all;
    int may_begin; /* the rules are read if a library is there that is wanted at the start */
    int is_done;
};

static int has_new(const struct dl_phdr_info *info, size_t size)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
        if (info->dlpi_adds == levels_loads && info->dlpi_subs == levels_unloads)
            return 0;
        if (info->dlpi_subs != levels_unloads) /* another may have come to where one was */
            keep_seen(0);
        levels_loads = info->dlpi_adds;
        levels_unloads = info->dlpi_subs;
    }
    return 1;
}

static int count_one(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    ++*(unsigned *)data;
    return 0;
}

static int is_wanted_at_start(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    return info->dlpi_name != NULL && ft_levels_rules_want_at_start(ft_levels_object_name(info->dlpi_name));
}

static int has_shadow_stack(void)
{
    uint64_t features = 0;
    return ft_sys(SYS_arch_prctl, GET_SHADOW_STACK, &features) == 0 && (features & HAS_SHADOW_STACK);
}

static int may_look(void)
{
    /*
     * Not while a fork is on its way, whose child would find the lock of ld.so held. One that begins during the look
     * still may, as it may beside the program's own dlopen, which takes that lock for longer.
     */
    return ft_enter() && !ft_is_shut_in() && ft_thread.vfork_depth == 0 && !ft_fork_is_any(__builtin_frame_address(0));
}

/* Once. */
static void read_rules(iterate *all)
{
    levels_are_read = 1;
    if (ft_levels_rules_read() == 0)
        return;
    if (has_shadow_stack()) {
        ft_debug_say("functions of libraries are not recorded: there is a shadow stack", 1);
        return;
    }
    all(count_one, &levels_first_count);
    ft_levels_args_start();
    levels_are_on = 1;
}

/* With the first object, for all of them; ld.so has no more than one thread here. */
static int look_once(struct dl_phdr_info *info, size_t size, void *data)
{
    struct look *look = data;
    if (look->may_begin && !levels_are_read && (ft_levels_rules_are_given() || look->all(is_wanted_at_start, NULL)))
        read_rules(look->all);
    look->is_done = 1;
    if (levels_are_on && (has_new(info, size) || levels_is_due || is_noted_by_others())) {
        forget_noted_by_others();
        look->is_done = look_at_all(look->all);
        if (!look->is_done && levels_tries < TRIES_MAX)
            levels_tries++;
        levels_is_due = !look->is_done && levels_tries < TRIES_MAX;
    }
    if (look->is_done)
        ft_thread.opened_at = levels_noted;
    return 1;
}

static int look_at_none(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    (void)data;
    return 1;
}

/*
 * 1 where all that was there is looked at. No handler comes meanwhile: it might hold this thread, and with it ld.so's lock,
 * until another thread goes on. A child may find the lock held for ever, and hangs then where its dlopen would have, for a
 * handler to end it: so its first look of all is one at nothing.
 */
static int look(int may_begin)
{
    struct look look = {.all = may_look() ? iterator() : NULL, .may_begin = may_begin};
    if (look.all == NULL)
        return 0;
    if (levels_pid != ft_process.pid)
        look.all(look_at_none, NULL);
    levels_pid = ft_process.pid;
    uint64_t before = ft_block_signals();
    look.all(look_once, &look);
    ft_unblock_signals(before);
    return look.is_done;
}

static int is_any_wanted_at_start(void)
{
    for (const struct link_map *map = ft_real_first_map(); map != NULL; map = map->l_next)
        if (map->l_name != NULL && ft_levels_rules_want_at_start(ft_levels_object_name(map->l_name)))
            return 1;
    return 0;
}

/*
 * Most programs have no such library: then nothing is written, since each page that is costs a fault, and ld.so is not
 * asked to keep others from loading.
 */
void ft_levels_start(void)
{
    if (ft_is_attached() && (ft_levels_rules_are_given() || is_any_wanted_at_start()))
        look(1);
}

/* Each thread looks at what it has opened itself. */
void ft_levels_opening(void)
{
    int is_done = !levels_are_read || levels_are_on ? look(1) : 1;
    if (!levels_are_on)
        return;
    if (!is_done && !ft_thread.has_opened)
        ft_thread.opened_at = __atomic_load_n(&levels_noted, __ATOMIC_RELAXED);
    ft_thread.has_opened = 1;
    if (!ft_levels_are_opened)
        ft_levels_are_opened = 1;
}

__attribute__((visibility("hidden"))) void ft_levels_loaded(void)
{
    if (ft_thread.has_opened && look(0))
        ft_thread.has_opened = 0;
}

#else

void ft_levels_start(void)
{
}

void ft_levels_opening(void)
{
}

void ft_levels_loaded(void)
{
}

#endif

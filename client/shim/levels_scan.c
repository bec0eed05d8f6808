// SPDX-License-Identifier: MIT
/*
 * When the slots of which objects are looked at: at the start where a library that a rule names is there, and from then
 * on after dlopen, when the program asks for a symbol or opens the next one. Each object once. Where no such library is
 * there and none is named by the user, all that a dlopen costs is a look at the names of what is loaded.
 * dl_iterate_phdr keeps the others from loading, unloading and looking meanwhile: one look is one call of it, and who comes
 * during that of another thread waits in ld.so, as its own dlopen would. So what a thread has opened is looked at before it
 * has an address of it. It is the one function of libc that is called here, as unwinders do, and only from within the
 * program's own calls to ld.so.
 */
#include "client/shim/levels_object.h"

FT_TABLE uint32_t ft_levels_are_pending;

#if FT_LEVELS_ARE_HERE

#include "client/shim/forks.h"
#include "client/shim/hot.h"
#include "client/shim/levels_args.h"
#include "client/shim/levels_rules.h"
#include "client/shim/settings.h"

#include <sys/mman.h>

enum {
    SEEN_MAX = 1024,
    LOOKS_AT_ONCE = 64,
    LOOKS_MAX = 65536,
    GET_SHADOW_STACK = 0x5005, /* ARCH_SHSTK_STATUS: <asm/prctl.h> of Linux 6.6 */
    HAS_SHADOW_STACK = 1,
};

typedef int iterate(int (*see)(struct dl_phdr_info *, size_t, void *), void *data);

FT_TABLE static uint8_t levels_are_read, levels_are_on, levels_are_unsure;
static uint8_t levels_is_looking; /* a handler came during a look. Not there: each forked child writes it */
FT_TABLE static unsigned levels_first_count;
FT_TABLE static uint64_t levels_seen[SEEN_MAX]; /* where an object was loaded that was looked at */
FT_TABLE static unsigned levels_seen_count;
FT_TABLE static unsigned levels_looks, levels_wait; /* since the last change, and how many are let be before the next */
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
    if (levels_seen_count < SEEN_MAX)
        levels_seen[levels_seen_count++] = base;
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

/*
 * An object that another thread is just opening may not be relocated yet: then a slot of it leads nowhere, and stays as it is
 * until that thread looks, or another that it gave the object to.
 */
static int is_all_relocated(void)
{
    return __atomic_load_n(&ft_levels_are_pending, __ATOMIC_RELAXED) == ft_thread.has_opened;
}

/* Of threads that opened and never ask for a symbol nobody knows when they are through: so others look ever more seldom. */
static int is_worth_another(void)
{
    if (!levels_are_unsure || (!ft_thread.has_opened && levels_wait != 0 && levels_wait-- != 0))
        return 0;
    levels_looks += levels_looks < LOOKS_MAX;
    levels_wait = levels_looks > LOOKS_AT_ONCE ? levels_looks : 0;
    return 1;
}

static void look_at_all_undisturbed(iterate *all)
{
    struct survey survey = {0};
    int is_final = is_all_relocated();
    levels_are_unsure = 0;
    all(survey_one, &survey);
    size_t bytes = survey.count * sizeof(struct ft_levels_object);
    if (!survey.is_worth_it)
        return;
    long made = ft_sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (made < 0 && made > -4096)
        return;
    struct ft_levels_objects objects = {.items = (struct ft_levels_object *)made, .first_count = levels_first_count};
    all(gather_one, &objects);
    for (unsigned i = 0; i < objects.count; i++) {
        uint64_t base = objects.items[i].elf.base;
        if (is_seen(base))
            continue;
        ft_levels_slots_take(&objects, &objects.items[i]);
        if (is_final)
            note_seen(base);
        else
            levels_are_unsure = 1;
    }
    ft_sys(SYS_munmap, made, bytes);
}

/* No handler comes meanwhile: it might hold this thread, and with it ld.so's lock, until another thread goes on. */
static void look_at_all(iterate *all)
{
    uint64_t before = ft_block_signals();
    look_at_all_undisturbed(all);
    ft_unblock_signals(before);
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
            levels_seen_count = 0;
        levels_loads = info->dlpi_adds;
        levels_looks = levels_wait = 0;
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
    if (levels_is_looking)
        return 1; /* a handler of the thread that looks */
    levels_is_looking = 1;
    if (look->may_begin && !levels_are_read && (ft_levels_rules_are_given() || look->all(is_wanted_at_start, NULL)))
        read_rules(look->all);
    if (levels_are_on && (has_new(info, size) || is_worth_another()))
        look_at_all(look->all);
    look->is_done = 1;
    levels_is_looking = 0;
    return 1;
}

/* 1 where all that was there is looked at. */
static int look(int may_begin)
{
    struct look look = {.all = may_look() ? iterator() : NULL, .may_begin = may_begin};
    if (look.all != NULL)
        look.all(look_once, &look);
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

/* It stays pending until this thread has looked: where it never does, others that ask for a symbol see that nothing is new. */
void ft_levels_opening(void)
{
    if (!levels_are_read || levels_are_on)
        look(1);
    if (!levels_are_on || ft_thread.has_opened)
        return;
    ft_thread.has_opened = 1;
    __atomic_fetch_add(&ft_levels_are_pending, 1, __ATOMIC_RELAXED);
}

void ft_levels_forked(void)
{
    levels_is_looking = 0;
    if (ft_levels_are_pending == 0)
        return;
    ft_levels_are_pending = 1;
    ft_thread.has_opened = 1;
}

__attribute__((visibility("hidden"))) void ft_levels_loaded(void)
{
    if (!look(0) || !ft_thread.has_opened)
        return;
    ft_thread.has_opened = 0;
    __atomic_fetch_sub(&ft_levels_are_pending, 1, __ATOMIC_RELAXED);
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

void ft_levels_forked(void)
{
}

#endif

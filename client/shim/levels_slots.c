// SPDX-License-Identifier: MIT
#include "client/shim/levels_object.h"

#if FT_LEVELS_ARE_HERE

#include "client/shim/levels_rules.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>

FT_TABLE void *ft_levels_dlsym_real;

/* A slot of the table of `object`, and what may be done with it. */
struct slot {
    uint64_t *at;
    const char *name;
    const ElfW(Sym) * symbol;
    int is_of_call; /* not used as an address */
};

/* Memory that is read-only once its object is relocated. */
struct writing {
    const struct ft_levels_object *object;
    int is_open;
};

static int is_protected(const struct ft_levels_object *object, const uint64_t *at)
{
    uint64_t address = (uint64_t)(uintptr_t)at;
    return address >= object->relro && address < object->relro_end;
}

/* By the kernel, which looks whether it may: 0, or -errno. This thread's memory: the first thread may have ended. */
static long write_by_kernel(uint64_t *at, uint64_t value)
{
    const struct iovec from = {.iov_base = &value, .iov_len = sizeof(value)};
    const struct iovec to = {.iov_base = at, .iov_len = sizeof(value)};
    long n = ft_sys(SYS_process_vm_writev, ft_sys(SYS_gettid), &from, 1, &to, 1, 0);
    return n == (long)sizeof(value) ? 0 : n < 0 ? n : -EFAULT;
}

static long protect(const struct ft_levels_object *object, int protection)
{
    return ft_sys(SYS_mprotect, object->relro, object->relro_end - object->relro, protection);
}

/*
 * Memory that is to become read-only and is not yet, is being relocated: it stays as it is after the write. Such memory
 * of which the kernel does not tell is not touched.
 */
static void write_slot(struct writing *writing, uint64_t *at, uint64_t before, uint64_t value)
{
    if (is_protected(writing->object, at) && !writing->is_open) {
        if (write_by_kernel(at, value) != -EFAULT || protect(writing->object, PROT_READ | PROT_WRITE) != 0)
            return;
        writing->is_open = 1;
    }
    __atomic_compare_exchange_n(at, &before, value, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static int is_function(const ElfW(Sym) * symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC || ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
}

/*
 * What ld.so will find at the first call, where there is but one definition. 0: that cannot be told from here, where
 * versions and the order of what was opened later are not looked at.
 */
static uint64_t resolve(const struct ft_levels_objects *objects, const char *name)
{
    uint32_t hash = ft_object_hash(name);
    uint64_t found = 0;
    for (unsigned i = 0; i < objects->count; i++) {
        unsigned count;
        const struct ft_object *elf = &objects->items[i].elf;
        const ElfW(Sym) *symbol = ft_object_find_symbol(elf, name, hash, &count);
        if (symbol == NULL)
            continue;
        if (found != 0 || count > 1 || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
            return 0;
        found = elf->base + symbol->st_value;
    }
    return found;
}

/* The function that a slot leads to, now or at its first call; 0: none, or not one of another object. */
static uint64_t target_of(const struct ft_levels_objects *objects, const struct ft_levels_object *object,
                          const struct slot *slot, const struct ft_levels_object **library)
{
    uint64_t target = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
    *library = ft_levels_object_at(objects, target);
    if (*library == object && slot->is_of_call && slot->symbol->st_shndx == SHN_UNDEF) {
        target = resolve(objects, slot->name);
        *library = ft_levels_object_at(objects, target);
    }
    return *library == object || *library == NULL ? 0 : target;
}

static int is_of_function(const struct ft_levels_object *library, const char *name, uint64_t target)
{
    unsigned count;
    const ElfW(Sym) *symbol = ft_object_find_symbol(&library->elf, name, ft_object_hash(name), &count);
    return symbol != NULL && is_function(symbol) &&
           (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC || count > 1 ||
            library->elf.base + symbol->st_value == target);
}

static int find_rule(const struct ft_levels_object *library, const char *name, struct ft_setting_rule *rule)
{
    return ft_levels_rules_find(library->library, name, rule) ||
           (library->elf.soname != NULL && ft_levels_rules_find(library->elf.soname, name, rule));
}

/* "libx.so" of libx.so.7 */
static size_t name_bytes(const char *library)
{
    static const char ending[] = ".so.";
    size_t n = 0;
    while (library[n] != 0 && !ft_has_prefix(library + n, ending))
        n++;
    return library[n] != 0 ? n + sizeof(ending) - 2 : n;
}

static uint64_t stub_of(const struct ft_levels_object *library, const struct slot *slot, uint64_t target)
{
    char category[64];
    struct ft_setting_rule rule;
    if (!find_rule(library, slot->name, &rule) || !is_of_function(library, slot->name, target))
        return 0;
    size_t n = rule.category_n;
    const char *from = rule.category;
    if (n == 0)
        n = name_bytes(from = library->library);
    if (n >= sizeof(category))
        n = sizeof(category) - 1;
    ft_copy(category, from, n);
    category[n] = 0;
    const struct ft_levels_function function = {
        .target = (void *)(uintptr_t)target, .name = slot->name, .category = category, .object = library->elf};
    return ft_levels_stub(&function);
}

/* dlsym is looked at, not recorded. */
static uint64_t stub_of_dlsym(const struct ft_levels_objects *objects, const struct ft_levels_object *object,
                              const struct slot *slot)
{
    const struct ft_levels_object *library;
    uint64_t target = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
    if (ft_levels_object_at(objects, target) == object && slot->symbol->st_shndx == SHN_UNDEF)
        for (unsigned i = 0; i < objects->first_count; i++) {
            ft_function *found = ft_object_find(&objects->items[i].elf, slot->name, ft_object_hash(slot->name));
            target = (uint64_t)(uintptr_t)found;
            if (found != NULL)
                break;
        }
    library = ft_levels_object_at(objects, target);
    if (library == NULL || library == object)
        return 0;
    if (ft_levels_dlsym_real == NULL)
        ft_levels_dlsym_real = (void *)(uintptr_t)target;
    return ft_levels_dlsym_real == (void *)(uintptr_t)target ? (uint64_t)(uintptr_t)ft_levels_dlsym : 0;
}

/* MPICH's Fortran names stand before its C names, in a library of their own: one call of the program is one span. */
static int is_inside_mpi(const struct ft_levels_object *object, const char *name)
{
    return ft_has_prefix(object->library, "libmpi") && ft_has_prefix(name, "MPI_File_");
}

static void take_slot(const struct ft_levels_objects *objects, struct writing *writing, struct ft_levels_uses *uses,
                      const struct slot *slot)
{
    const struct ft_levels_object *library;
    uint64_t before = __atomic_load_n(slot->at, __ATOMIC_RELAXED), stub = 0;
    if (ft_object_is_same(slot->name, "dlsym")) {
        stub = stub_of_dlsym(objects, writing->object, slot);
    } else {
        uint64_t target = target_of(objects, writing->object, slot, &library);
        if (target != 0 && !is_inside_mpi(writing->object, slot->name))
            stub = stub_of(library, slot, target);
    }
    if (stub != 0 &&
        (slot->is_of_call || ft_levels_is_only_called(writing->object, uses, (uint64_t)(uintptr_t)slot->at)))
        write_slot(writing, slot->at, before, stub);
}

/* The slot of a relocation; 0: it has none, or nobody wants it. */
static int read_slot(const struct ft_levels_object *object, const ElfW(Rela) * relocation, struct slot *slot)
{
    unsigned type = (unsigned)ELF64_R_TYPE(relocation->r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
        return 0;
    slot->symbol = &object->elf.symbols[ELF64_R_SYM(relocation->r_info)];
    slot->name = object->elf.strings + slot->symbol->st_name;
    slot->at = (uint64_t *)(uintptr_t)(object->elf.base + relocation->r_offset);
    slot->is_of_call = type == R_X86_64_JUMP_SLOT;
    /* Of dlsym the slots of calls alone: whether others are is found by a look at all the code, which may be large. */
    return ft_levels_rules_want_name(slot->name) || (slot->is_of_call && ft_object_is_same(slot->name, "dlsym"));
}

int ft_levels_slots_are_wanted(const struct ft_levels_object *object)
{
    struct slot slot;
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < object->relocation_counts[part]; i++)
            if (read_slot(object, &object->relocations[part][i], &slot))
                return 1;
    return 0;
}

/* From the first to the last of those that are no slots of calls: they lie in one table. */
static struct ft_levels_uses uses_of(const struct ft_levels_object *object)
{
    struct ft_levels_uses uses = {0};
    struct slot slot;
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < object->relocation_counts[part]; i++) {
            if (!read_slot(object, &object->relocations[part][i], &slot) || slot.is_of_call)
                continue;
            uint64_t at = (uint64_t)(uintptr_t)slot.at;
            uses.first = uses.end == 0 || at < uses.first ? at : uses.first;
            uses.end = at + sizeof(*slot.at) > uses.end ? at + sizeof(*slot.at) : uses.end;
        }
    return uses;
}

void ft_levels_slots_take(const struct ft_levels_objects *objects, const struct ft_levels_object *object)
{
    struct writing writing = {.object = object};
    struct ft_levels_uses uses = uses_of(object);
    struct slot slot;
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < object->relocation_counts[part]; i++)
            if (read_slot(object, &object->relocations[part][i], &slot))
                take_slot(objects, &writing, &uses, &slot);
    ft_levels_uses_fini(&uses);
    if (writing.is_open)
        protect(object, PROT_READ);
}

#endif

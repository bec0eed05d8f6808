// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "client/functions/name.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "client/shim/sys.h"

enum {
    NAMES = 16384, /* places; three quarters are used */
    NAMES_USED = 12288,
    TEXT_BYTES = 2 << 20, /* of all names */
    NAME_BYTES = 500,     /* so many the shim keeps as one text */
    BUILD_ID_BYTES = 64,
    PATH_BYTES = 4096,
};

/* `function` is taken first, by a swap; the text is there a little later. */
struct named {
    const void *function;
    const char *text;
};

static struct named names[NAMES];
static char texts[TEXT_BYTES];
static uint32_t names_used, text_used;
static char program[PATH_BYTES];

static const char unnamed[] = "function ?";

void ft_function_names_begin(void)
{
    long length = ft_sys6(SYS_readlinkat, -100 /* AT_FDCWD */, (long)"/proc/self/exe", (long)program,
                          (long)sizeof(program) - 1, 0, 0);
    program[length > 0 ? length : 0] = 0;
}

/* An object that is loaded. */
struct object {
    uintptr_t base;
    const char *path;
    const ElfW(Phdr) * headers;
    size_t header_count;
};

#ifdef DLFO_STRUCT_HAS_EH_DBASE

/* No lock: in a handler, and in a child that was forked while a library was being loaded, there is no other way. */
static void find_object(const void *function, struct object *out)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)function, &found) != 0)
        return;
    const ElfW(Ehdr) *head = found.dlfo_map_start;
    out->base = found.dlfo_link_map->l_addr;
    out->path = found.dlfo_link_map->l_name;
    out->headers = (const ElfW(Phdr) *)((uintptr_t)head + head->e_phoff);
    out->header_count = head->e_phnum;
}

#else

struct search {
    uintptr_t address;
    struct object *found;
};

static int holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
            return 1;
    }
    return 0;
}

static int look(struct dl_phdr_info *info, size_t bytes, void *search_untyped)
{
    struct search *search = search_untyped;
    (void)bytes;
    if (!holds(info, search->address))
        return 0;
    *search->found = (struct object){
        .base = info->dlpi_addr, .path = info->dlpi_name, .headers = info->dlpi_phdr, .header_count = info->dlpi_phnum};
    return 1;
}

static void find_object(const void *function, struct object *out)
{
    struct search search = {.address = (uintptr_t)function, .found = out};
    dl_iterate_phdr(look, &search);
}

#endif

/* The note of type NT_GNU_BUILD_ID: its bytes, 0 where there is none. */
static size_t build_id(const struct object *object, const unsigned char **id)
{
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *header = &object->headers[i];
        uintptr_t at = object->base + header->p_vaddr, end = at + header->p_filesz;
        if (header->p_type != PT_NOTE)
            continue;
        while (end - at >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            uintptr_t name = at + sizeof(*note), desc = name + ((note->n_namesz + 3u) & ~3u);
            uintptr_t next = desc + ((note->n_descsz + 3u) & ~3u);
            if (next > end || next < at)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && *(const char *)name == 'G' &&
                note->n_descsz <= BUILD_ID_BYTES) {
                *id = (const unsigned char *)desc;
                return note->n_descsz;
            }
            at = next;
        }
    }
    return 0;
}

struct writer {
    char *text;
    size_t used;
};

static void put(struct writer *to, const char *text)
{
    for (; *text != 0 && to->used + 1 < NAME_BYTES; text++)
        to->text[to->used++] = *text;
    to->text[to->used] = 0;
}

static void put_hex(struct writer *to, uintptr_t value, unsigned digits)
{
    static const char hex[] = "0123456789abcdef";
    char text[17];
    unsigned at = sizeof(text) - 1;
    text[at] = 0;
    do
        text[--at] = hex[value & 15];
    while ((value >>= 4) != 0 || sizeof(text) - 1 - at < digits);
    put(to, text + at);
}

static size_t length_of(const char *text)
{
    size_t n = 0;
    while (text[n] != 0)
        n++;
    return n;
}

static size_t write_name(char *text, const void *function)
{
    struct object object = {.path = "?"};
    struct writer to = {.text = text};
    const unsigned char *id = NULL;
    find_object(function, &object);
    const char *path = object.path[0] != 0 ? object.path : program;
    size_t length = length_of(path), id_bytes = build_id(&object, &id);
    /* A path that leaves no room for the rest says at least which file it is. */
    if (length > NAME_BYTES - 3 * BUILD_ID_BYTES)
        for (const char *slash = path; *slash != 0; slash++)
            path = *slash == '/' ? slash + 1 : path;
    put(&to, "function ");
    put(&to, path);
    put(&to, "+0x");
    put_hex(&to, (uintptr_t)function - object.base, 1);
    put(&to, id_bytes > 0 ? " (build-id " : " (no build-id");
    for (size_t i = 0; i < id_bytes; i++)
        put_hex(&to, id[i], 2);
    put(&to, ")");
    return to.used + 1;
}

static const char *make_text(const void *function)
{
    char text[NAME_BYTES];
    size_t bytes = write_name(text, function);
    uint32_t at = __atomic_fetch_add(&text_used, (uint32_t)bytes, __ATOMIC_RELAXED);
    if (at > TEXT_BYTES - NAME_BYTES) {
        __atomic_fetch_sub(&text_used, (uint32_t)bytes, __ATOMIC_RELAXED);
        return unnamed;
    }
    for (size_t i = 0; i < bytes; i++)
        texts[at + i] = text[i];
    return &texts[at];
}

const char *ft_function_name(const void *function)
{
    size_t at = (size_t)(((uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % NAMES;
    for (;; at = (at + 1) % NAMES) {
        const void *seen = __atomic_load_n(&names[at].function, __ATOMIC_ACQUIRE);
        if (seen == NULL) {
            if (__atomic_fetch_add(&names_used, 1, __ATOMIC_RELAXED) >= NAMES_USED) {
                __atomic_fetch_sub(&names_used, 1, __ATOMIC_RELAXED);
                return unnamed;
            }
            const char *text = make_text(function);
            const void *none = NULL;
            if (__atomic_compare_exchange_n(&names[at].function, &none, function, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE)) {
                /* Release: partner is the load below. */
                __atomic_store_n(&names[at].text, text, __ATOMIC_RELEASE);
                return text;
            }
            __atomic_fetch_sub(&names_used, 1, __ATOMIC_RELAXED); /* another thread's took the place */
            seen = none;
        }
        if (seen == function) {
            const char *text = __atomic_load_n(&names[at].text, __ATOMIC_ACQUIRE);
            return text != NULL ? text : make_text(function); /* another thread is about to name it */
        }
    }
}

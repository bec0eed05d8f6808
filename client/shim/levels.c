// SPDX-License-Identifier: MIT
/* The two ends of a call to a function of a library: see levels.h. */
#include "client/shim/levels.h"

#include "client/shim/annotate.h"
#include "client/shim/hot.h"
#include "client/shim/levels_args.h"

#include <sys/mman.h>
#include <sys/uio.h>

#if FT_LEVELS_ARE_HERE

enum {
    WORD_CALLS = 64,
    WORDS = FT_LEVELS_CALLS / WORD_CALLS,
    WORDS_PREPARED = 4,
    LOOKS_MAX = 4096, /* calls that find a word full until it is looked at again, at most */
    CHAIN_MAX = 64,   /* exit stubs that return to each other: tail calls between libraries */
};

FT_TABLE struct ft_levels_kept ft_levels_kept[FT_LEVELS_CALLS];
FT_TABLE struct ft_levels_function *ft_levels_functions;
FT_TABLE static struct ft_levels_call *levels_calls;

_Static_assert(sizeof(struct ft_levels_kept) == FT_LEVELS_STUB_BYTES, "levels_stubs.S finds a place by its stub");
_Static_assert(offsetof(struct ft_levels_kept, address) == 0, "levels_stubs.S pushes the first word");
_Static_assert(offsetof(struct ft_levels_registers, integers) == 128, "levels_stubs.S saves them there");
_Static_assert(offsetof(struct ft_levels_registers, rax) == 192, "levels_stubs.S saves it there");

/* A bit for each place: 1 where it is taken. */
FT_TABLE static uint64_t levels_taken[WORDS];
FT_TABLE static uint8_t levels_ready[WORDS]; /* its 64 places have memory */

static int take_memory(void *from, size_t bytes)
{
    uintptr_t first = (uintptr_t)from & ~(uintptr_t)(FT_PAGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)from + bytes + FT_PAGE_BYTES - 1) & ~(uintptr_t)(FT_PAGE_BYTES - 1);
    if (ft_is_shut_in())
        return 0;
    long error = ft_sys(SYS_madvise, first, end - first, FT_MADV_POPULATE_WRITE);
    return error == 0 || error == -EINVAL; /* before Linux 5.14 it comes by touching */
}

static int is_ready(unsigned word)
{
    if (ft_likely(__atomic_load_n(&levels_ready[word], __ATOMIC_ACQUIRE)))
        return 1;
    unsigned first = word * WORD_CALLS;
    if (!take_memory(&ft_levels_kept[first], WORD_CALLS * sizeof(ft_levels_kept[0])) ||
        !take_memory(&levels_calls[first], WORD_CALLS * sizeof(levels_calls[0])))
        return 0;
    __atomic_store_n(&levels_ready[word], 1, __ATOMIC_RELEASE);
    return 1;
}

static int make_tables(void)
{
    enum { CALLS_BYTES = FT_LEVELS_CALLS * sizeof(*levels_calls) };
    if (levels_calls != NULL)
        return 1;
    long made = ft_sys(SYS_mmap, 0, CALLS_BYTES + FT_LEVELS_FUNCTIONS * sizeof(*ft_levels_functions),
                       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made < 0 && made > -4096)
        return 0;
    if (ft_process.unlock_pages)
        ft_sys(SYS_munlock, made, CALLS_BYTES + FT_LEVELS_FUNCTIONS * sizeof(*ft_levels_functions));
    levels_calls = (struct ft_levels_call *)made;
    ft_levels_functions = (struct ft_levels_function *)(made + CALLS_BYTES);
    return is_ready(0);
}

void ft_levels_prepare(void)
{
    for (unsigned word = 0; levels_calls != NULL && word < WORDS_PREPARED; word++)
        is_ready(word);
}

FT_TABLE static char *levels_room;
FT_TABLE static size_t levels_room_left;
FT_TABLE static uint8_t levels_room_busy;

const char *ft_levels_keep(const char *text, size_t bytes)
{
    size_t n = (bytes < FT_PAGE_BYTES - 1 ? bytes : FT_PAGE_BYTES - 1) + 1;
    if (__atomic_exchange_n(&levels_room_busy, 1, __ATOMIC_ACQUIRE))
        return NULL;
    if (n > levels_room_left) {
        levels_room = ft_arena_page();
        levels_room_left = levels_room != NULL ? FT_PAGE_BYTES : 0;
    }
    char *kept = levels_room;
    if (kept != NULL) {
        ft_copy(kept, text, n - 1);
        kept[n - 1] = 0;
        levels_room += n;
        levels_room_left -= n;
    }
    __atomic_store_n(&levels_room_busy, 0, __ATOMIC_RELEASE);
    return kept;
}

/* That of another function of the same category, or kept anew. */
static const char *keep_category(const char *category, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        if (ft_levels_functions[i].category != NULL && ft_object_is_same(ft_levels_functions[i].category, category))
            return ft_levels_functions[i].category;
    return ft_levels_keep(category, ft_length(category));
}

static uint64_t stub_at(unsigned number)
{
    return (uint64_t)(uintptr_t)ft_levels_entries + (uint64_t)number * FT_LEVELS_STUB_BYTES;
}

FT_TABLE static unsigned levels_function_count;

uint8_t ft_levels_lack_memory;

static uint64_t lack_memory(void)
{
    ft_levels_lack_memory = 1;
    return 0;
}

uint64_t ft_levels_stub(const struct ft_levels_function *function)
{
    if (!make_tables())
        return lack_memory();
    for (unsigned i = 0; i < levels_function_count; i++)
        if (ft_levels_functions[i].target == function->target &&
            ft_object_is_same(ft_levels_functions[i].name, function->name))
            return stub_at(i);
    struct ft_levels_function *made = &ft_levels_functions[levels_function_count];
    if (levels_function_count == FT_LEVELS_FUNCTIONS)
        return 0;
    if (!take_memory(made, sizeof(*made)))
        return lack_memory();
    *made = *function;
    made->name = ft_levels_keep(function->name, ft_length(function->name));
    made->category = function->category[0] != '-' ? keep_category(function->category, levels_function_count) : NULL;
    if (made->name == NULL || (made->category == NULL && function->category[0] != '-'))
        return lack_memory();
    ft_levels_args_learn(made);
    return stub_at(levels_function_count++);
}

static uint64_t exit_of(unsigned place)
{
    return (uint64_t)(uintptr_t)ft_levels_exits + (uint64_t)place * FT_LEVELS_STUB_BYTES;
}

/* The place whose exit stub it is; FT_LEVELS_CALLS: none. */
static unsigned place_of(uint64_t address)
{
    uint64_t distance = address - (uint64_t)(uintptr_t)ft_levels_exits;
    return distance < FT_LEVELS_CALLS * FT_LEVELS_STUB_BYTES ? (unsigned)(distance / FT_LEVELS_STUB_BYTES)
                                                             : FT_LEVELS_CALLS;
}

/* The kernel reads it, since it may be gone, and below the stack's end: 1, or 0 where that cannot be told. */
static int read_word(const uint64_t *where, uint64_t *value, int *is_gone)
{
    const struct iovec to = {.iov_base = value, .iov_len = sizeof(*value)};
    const struct iovec from = {.iov_base = (void *)(uintptr_t)where, .iov_len = sizeof(*value)};
    long n = ft_sys(SYS_process_vm_readv, ft_sys(SYS_gettid), &to, 1, &from, 1, 0);
    *is_gone = n == -EFAULT;
    return n == (long)sizeof(*value);
}

/* A call may return through it yet: the word of its stack leads there, by way of others that returned to it maybe. */
static int may_return(unsigned place)
{
    uint64_t address;
    int is_gone;
    if (!read_word(ft_levels_kept[place].where, &address, &is_gone))
        return !is_gone;
    for (int i = 0; i < CHAIN_MAX; i++) {
        unsigned at = place_of(address);
        if (at == place)
            return 1;
        if (at == FT_LEVELS_CALLS)
            return 0;
        address = ft_levels_kept[at].address;
    }
    return 1;
}

/* A free place has no owner: then a handler that comes between two steps takes it for neither left nor free. */
static void free_place(unsigned place)
{
    levels_calls[place].owner = NULL;
    __atomic_fetch_and(&levels_taken[place / WORD_CALLS], ~(UINT64_C(1) << place % WORD_CALLS), __ATOMIC_RELEASE);
}

/* How many calls find a word full before it is looked at, since the last look that found nothing left behind. */
FT_TABLE static uint16_t levels_wait[WORDS], levels_waits[WORDS];

static void note_look(unsigned word, int has_found)
{
    unsigned waits = has_found ? 0 : 2u * levels_waits[word] + 1;
    levels_wait[word] = levels_waits[word] = (uint16_t)(waits < LOOKS_MAX ? waits : LOOKS_MAX);
}

/* Frees what this thread's calls left behind that never returned. Another thread's may be returning right now. */
static void free_left(unsigned word)
{
    int has_found = 0;
    uint64_t taken = __atomic_load_n(&levels_taken[word], __ATOMIC_ACQUIRE);
    if (ft_is_shut_in() || (levels_wait[word] != 0 && levels_wait[word]-- != 0))
        return;
    for (; taken != 0; taken &= taken - 1) {
        unsigned place = word * WORD_CALLS + (unsigned)__builtin_ctzll(taken);
        if (levels_calls[place].owner == &ft_thread && !may_return(place)) {
            free_place(place);
            has_found = 1;
        }
    }
    note_look(word, has_found);
}

static int take_in(unsigned word)
{
    uint64_t taken = __atomic_load_n(&levels_taken[word], __ATOMIC_ACQUIRE);
    while (taken != UINT64_MAX) {
        unsigned bit = (unsigned)__builtin_ctzll(~taken);
        taken = __atomic_fetch_or(&levels_taken[word], UINT64_C(1) << bit, __ATOMIC_ACQ_REL);
        if (!(taken >> bit & 1))
            return (int)(word * WORD_CALLS + bit);
    }
    return -1;
}

/* A free place; -1: none. Threads start their search at different words, so that they do not fight for one. */
static int take_place(void)
{
    unsigned first = ft_thread.writer->index % WORDS;
    for (unsigned i = 0; i < WORDS; i++) {
        unsigned word = (first + i) % WORDS;
        if (!is_ready(word))
            continue;
        int place = take_in(word);
        if (place < 0) {
            free_left(word);
            place = take_in(word);
        }
        if (place >= 0)
            return place;
    }
    return -1;
}

void *ft_levels_begin(unsigned number, uint64_t *where, const struct ft_levels_registers *registers);
void ft_levels_end(unsigned place, const struct ft_levels_registers *registers);

/* Returns where the call goes on. */
__attribute__((visibility("hidden"))) void *ft_levels_begin(unsigned number, uint64_t *where,
                                                            const struct ft_levels_registers *registers)
{
    const struct ft_levels_function *function = &ft_levels_functions[number];
    if (!ft_annotate_enter())
        return function->target;
    int place = take_place();
    if (ft_unlikely(place < 0)) {
        if (function->category != NULL)
            ft_annotate_drop();
        return function->target;
    }
    struct ft_levels_call *call = &levels_calls[place];
    call->function = function;
    call->mark.image = ft_process.pid;
    for (unsigned i = 0; function->letters[0] != 0 && i < FT_LEVELS_INTEGERS; i++)
        call->integers[i] = registers->integers[i];
    if (function->letters[0] != 0)
        call->integers[FT_LEVELS_INTEGERS] = where[1]; /* the first that lies on the stack, or whatever is there */
    ft_levels_args_begin(call);
    ft_levels_kept[place] = (struct ft_levels_kept){.address = *where, .where = where};
    __atomic_store_n(where, exit_of((unsigned)place), __ATOMIC_RELAXED);
    __asm__ volatile("" : : : "memory"); /* from here on a look may find it left behind */
    call->owner = &ft_thread;
    call->mark.ticks = ft_now();
    return function->target;
}

__attribute__((visibility("hidden"))) void ft_levels_end(unsigned place, const struct ft_levels_registers *registers)
{
    const struct ft_levels_call call = levels_calls[place];
    const struct ft_levels_function *function = call.function;
    free_place(place);
    if (!ft_annotate_enter() || call.mark.image != ft_process.pid) /* in this order: a raw fork's child attaches here */
        return;                                                    /* begun by the parent, whose it is */
    uint64_t end = ft_now();                                       /* what is asked of the library is not its time */
    struct ft_annotate_arg args[FT_LEVELS_ARGS_MAX];
    struct ft_annotate_event span = {.kind = FT_ANNOTATE_SPAN,
                                     .category = function->category,
                                     .name = function->name,
                                     .mark = call.mark,
                                     .args = args};
    if (function->letters[0] != 0)
        span.arg_count = ft_levels_args_tell(&call, registers->rax, args);
    if (function->category != NULL)
        ft_annotate_write(&span, NULL, end);
}

#else

void ft_levels_prepare(void)
{
}

#endif

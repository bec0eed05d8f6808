// SPDX-License-Identifier: MIT
#include "client/shim/tags.h"

#include "client/shim/clock.h"
#include "client/shim/name.h"

/* One tag. Its states let a handler that sets tags meanwhile take another place, and leave a kill or fork no half of one. */
struct tag {
    uint8_t state; /* enum tag_state */
    uint8_t n;     /* bytes of text */
    char text[FT_TAG_BYTES];
};

enum tag_state { FREE, BUSY, SET, UNTOLD, UNTOLD_CLEARED };

enum { PAGES_PER_PAGE = FT_PAGE_BYTES / sizeof(void *), PAGES_MAX = FT_LINES_MAX / PAGES_PER_PAGE };

FT_TABLE static struct tag **tags_of_lines[PAGES_MAX]; /* a line's tags: a page of FT_TAGS_MAX */
FT_TABLE static struct tag *tags_of_process;
uint8_t ft_tags_are_set;            /* without, none of these pages is touched */
static const struct tag *inherited; /* in a forked child: those of the thread that forked */

_Static_assert(sizeof(struct tag) * FT_TAGS_MAX == FT_PAGE_BYTES, "a page of tags");
_Static_assert(FT_TAG_BYTES <= UINT8_MAX, "length");

/* The page behind a pointer, made at the first use; NULL where there is no memory for it. */
static void *page_at(void *place_untyped, int may_make)
{
    void **place = place_untyped, *page = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (page != NULL || !may_make || ft_thread.vfork_depth != 0)
        return page;
    void *made = ft_arena_page();
    ft_tags_are_set = 1;
    if (made == NULL || __atomic_compare_exchange_n(place, &page, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    return page;
}

static struct tag *tags_of_line(uint32_t index, int may_make)
{
    struct tag **page = page_at(&tags_of_lines[index / PAGES_PER_PAGE], may_make);
    return page != NULL ? page_at(&page[index % PAGES_PER_PAGE], may_make) : NULL;
}

static struct tag *tags_of(int is_process_wide, int may_make)
{
    return is_process_wide ? page_at(&tags_of_process, may_make) : tags_of_line(ft_thread.writer->index, may_make);
}

static uint8_t state_of(const struct tag *tag)
{
    return __atomic_load_n(&tag->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct tag *tag, uint8_t state)
{
    __atomic_store_n(&tag->state, state, __ATOMIC_RELEASE);
}

static int has_key(const struct tag *tag, const char *key, size_t n)
{
    return tag->n > n && tag->text[n] == '=' && ft_is_equal(tag->text, key, n);
}

static struct tag *find(struct tag *tags, const char *key, size_t n)
{
    for (int i = 0; tags != NULL && i < FT_TAGS_MAX; i++)
        if (state_of(&tags[i]) >= SET && has_key(&tags[i], key, n))
            return &tags[i];
    return NULL;
}

static struct tag *take_free(struct tag *tags)
{
    for (int i = 0; tags != NULL && i < FT_TAGS_MAX; i++) {
        uint8_t expected = FREE;
        if (__atomic_compare_exchange_n(&tags[i].state, &expected, BUSY, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return &tags[i];
    }
    return NULL;
}

/* Two records: the text under an id of its own, and that it holds. 0 where one of them found no slot. */
static int tell(int is_process_wide, const char *text, size_t n)
{
    struct ft_chunk_head *chunk;
    uint32_t id = ft_name_string(text, n, 0);
    if (id == 0)
        return 0;
    uint8_t before = ft_recording_begin();
    uint64_t now = ft_now();
    uint64_t *word = ft_ring_reserve(ft_thread.writer, 1, now, &chunk);
    if (word != NULL) {
        word[1] = id | (is_process_wide ? FT_TAGS_OF_PROCESS : 0);
        word[2] = now;
        word[3] = 0;
        /* Release: partner is the reader's second look at the chunk (proto/ring.h). */
        __atomic_store_n(&word[0], FT_W0(FT_RECORD_TAGS, 1, 0, 0, chunk->fill, FT_FD16_NONE), __ATOMIC_RELEASE);
    }
    ft_recording_end(before);
    return word != NULL;
}

/* "key=value", or "key=" where it goes; 0 where it is too long or no tag. */
static size_t put_text(char *text, const char *key, size_t key_n, const char *value)
{
    size_t value_n = value != NULL ? ft_length_most(value, FT_TAG_BYTES) : 0;
    if (key_n == 0 || key_n >= FT_TAG_BYTES || value_n > FT_TAG_BYTES - key_n - 1)
        return 0;
    for (size_t i = 0; i < key_n; i++)
        if (key[i] == '=')
            return 0;
    ft_copy(text, key, key_n);
    text[key_n] = '=';
    ft_copy(text + key_n + 1, value, value_n);
    return key_n + 1 + value_n;
}

static void ignore(void)
{
    __atomic_fetch_add(&ft_head()->settings_ignored, 1, __ATOMIC_RELAXED);
}

/* The tag's place, now BUSY. NULL where none is free or no memory is to be had. */
static struct tag *take(int is_process_wide, const char *key, size_t key_n, int is_cleared)
{
    struct tag *tags = tags_of(is_process_wide, !is_cleared), *tag = find(tags, key, key_n);
    if (tag == NULL)
        return is_cleared ? NULL : take_free(tags);
    set_state(tag, BUSY);
    return tag;
}

void ft_tags_set(int is_process_wide, const char *key, const char *value)
{
    char text[FT_TAG_BYTES];
    size_t key_n = key != NULL ? ft_length_most(key, FT_TAG_BYTES) : 0;
    size_t n = put_text(text, key, key_n, value);
    int is_cleared = n == key_n + 1;
    if (n == 0 || ft_thread.vfork_depth != 0) { /* a vfork child's would be its parent's */
        ignore();
        return;
    }
    struct tag *tag = take(is_process_wide, key, key_n, is_cleared);
    int is_told = tell(is_process_wide, text, n);
    if (tag == NULL) { /* told once; no scope and no child knows it */
        if (!is_told)
            ignore();
        return;
    }
    ft_copy(tag->text, text, n);
    tag->n = (uint8_t)n;
    if (is_told)
        set_state(tag, is_cleared ? FREE : SET);
    else
        set_state(tag, is_cleared ? UNTOLD_CLEARED : UNTOLD);
    ft_thread.tags_untold |= (uint8_t)!is_told;
}

int ft_tags_get(int is_process_wide, const char *key, char *value, size_t room)
{
    size_t key_n = key != NULL ? ft_length_most(key, FT_TAG_BYTES) : 0;
    const struct tag *tag = find(tags_of(is_process_wide, 0), key, key_n);
    if (key_n == 0 || tag == NULL || state_of(tag) == UNTOLD_CLEARED)
        return -1;
    size_t n = tag->n - key_n - 1;
    if (n >= room)
        return -1;
    ft_copy(value, tag->text + key_n + 1, n);
    value[n] = 0;
    return (int)n;
}

/* 1 where all of them are told now. */
static int tell_untold(int is_process_wide)
{
    struct tag *tags = tags_of(is_process_wide, 0);
    for (int i = 0; tags != NULL && i < FT_TAGS_MAX; i++) {
        uint8_t state = state_of(&tags[i]);
        if (state < UNTOLD)
            continue;
        if (!tell(is_process_wide, tags[i].text, tags[i].n))
            return 0;
        set_state(&tags[i], state == UNTOLD ? SET : FREE);
    }
    return 1;
}

void ft_tags_tell(void)
{
    ft_thread.tags_untold = 0; /* first: a handler may add one meanwhile */
    if (!tell_untold(0) || !tell_untold(1))
        ft_thread.tags_untold = 1;
}

void ft_tags_start_thread(uint32_t index)
{
    struct tag *tags = ft_tags_are_set ? tags_of_line(index, 0) : NULL;
    if (tags == inherited) /* the line has the number that the parent's had */
        return;
    for (int i = 0; tags != NULL && i < FT_TAGS_MAX; i++)
        set_state(&tags[i], FREE);
}

void ft_tags_prepare(void)
{
    if (ft_thread.writer == NULL)
        return;
    tags_of(0, 1);
    tags_of(1, 1);
}

void ft_tags_fork(void)
{
    inherited = ft_tags_are_set && ft_thread.writer != NULL ? tags_of_line(ft_thread.writer->index, 0) : NULL;
}

/* All that holds is to be told; what was being changed when the fork came is lost. */
static void tell_again(struct tag *tags)
{
    for (int i = 0; tags != NULL && i < FT_TAGS_MAX; i++) {
        uint8_t state = state_of(&tags[i]);
        int holds = state == SET || state == UNTOLD;
        set_state(&tags[i], holds ? UNTOLD : FREE);
        ft_thread.tags_untold |= (uint8_t)holds;
    }
}

void ft_tags_inherit(void)
{
    const struct tag *from = inherited;
    struct tag *own = from != NULL ? tags_of(0, 1) : NULL;
    inherited = NULL;
    if (!ft_tags_are_set)
        return;
    if (own != NULL && own != from)
        ft_copy(own, from, FT_PAGE_BYTES);
    tell_again(own);
    tell_again(tags_of_process);
    if (ft_thread.tags_untold)
        ft_tags_tell();
}

// SPDX-License-Identifier: MIT
#include "client/cli/run_environment.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

#define PRELOAD_SEPARATORS ": \t\n"

void ft_environment_init(struct ft_environment *environment, char *const *from)
{
    size_t count = 0;
    while (from[count]) {
        count++;
    }
    environment->items = ft_cli_alloc((count + 1) * sizeof(*environment->items));
    environment->count = count;
    for (size_t i = 0; i < count; i++) {
        environment->items[i] = ft_cli_strdup(from[i]);
    }
}

void ft_environment_fini(struct ft_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++) {
        free(environment->items[i]);
    }
    free(environment->items);
    memset(environment, 0, sizeof(*environment));
}

static bool is_named(const char *item, const char *name)
{
    size_t length = strlen(name);
    return strncmp(item, name, length) == 0 && item[length] == '=';
}

const char *ft_environment_get(const struct ft_environment *environment, const char *name)
{
    for (size_t i = 0; i < environment->count; i++) {
        if (is_named(environment->items[i], name)) {
            return environment->items[i] + strlen(name) + 1;
        }
    }
    return NULL;
}

/* Removes every item of that name; where the first one stood, or the end. */
static size_t remove_name(struct ft_environment *environment, const char *name)
{
    size_t kept = 0, place = environment->count;
    for (size_t i = 0; i < environment->count; i++) {
        if (is_named(environment->items[i], name)) {
            place = place < kept ? place : kept;
            free(environment->items[i]);
        } else {
            environment->items[kept++] = environment->items[i];
        }
    }
    environment->count = kept;
    environment->items[kept] = NULL;
    return place < kept ? place : kept;
}

void ft_environment_set(struct ft_environment *environment, const char *name, const char *value)
{
    char *item = value ? ft_cli_format("%s=%s", name, value) : NULL;
    size_t place = remove_name(environment, name);
    if (!item) {
        return;
    }
    environment->items = ft_cli_realloc(environment->items, environment->count + 2, sizeof(*environment->items));
    memmove(environment->items + place + 1, environment->items + place,
            (environment->count - place + 1) * sizeof(*environment->items));
    environment->items[place] = item;
    environment->count++;
}

void ft_environment_join(struct ft_environment *environment, const char *name, const struct ft_strings *items,
                         char separator)
{
    for (size_t i = 0; i < items->count; i++) {
        const char *old = ft_environment_get(environment, name);
        char *joined =
            old && *old ? ft_cli_format("%s%c%s", old, separator, items->items[i]) : ft_cli_strdup(items->items[i]);
        ft_environment_set(environment, name, joined);
        free(joined);
    }
}

static bool is_sanitizer(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libtsan.so", 10) == 0 ||
           strncmp(name, "liblsan.so", 10) == 0 || strncmp(name, "libhwasan.so", 12) == 0 ||
           strncmp(name, "libclang_rt.", 12) == 0;
}

static void add_word(char **list, const char *word)
{
    char *longer = *list ? ft_cli_format("%s:%s", *list, word) : ft_cli_strdup(word);
    free(*list);
    *list = longer;
}

/* Words of `old` that are (or are not) sanitizers, without the library. */
static void add_words(char **list, const char *old, const char *library, bool sanitizers, bool others)
{
    char *copy = ft_cli_strdup(old ? old : ""), *rest = NULL;
    for (char *word = strtok_r(copy, PRELOAD_SEPARATORS, &rest); word;
         word = strtok_r(NULL, PRELOAD_SEPARATORS, &rest)) {
        if (strcmp(word, library) != 0 && (is_sanitizer(word) ? sanitizers : others)) {
            add_word(list, word);
        }
    }
    free(copy);
}

char *ft_environment_preload(const char *old, const char *library)
{
    char *list = NULL;
    add_words(&list, old, library, true, false);
    add_word(&list, library);
    add_words(&list, old, library, false, true);
    return list;
}

char *ft_environment_unload(const char *old, const char *library)
{
    char *list = NULL;
    add_words(&list, old, library, true, true);
    return list;
}

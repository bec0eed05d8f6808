// SPDX-License-Identifier: MIT
#include "daemon/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(from, to) .least = (from), .most = (to)
#define RANGE(from, to) .least = (from), .most = (to)
#define WORDS(list) .words = (list)
#define OFFSET_STRING(name) offsetof(struct ft_config, name)
#define OFFSET_WORD(name) offsetof(struct ft_config, name)
#define OFFSET_BOOL(name) offsetof(struct ft_config, name)
#define OFFSET_NUMBER(name) offsetof(struct ft_config, name)
#define OFFSET_BYTES(name) offsetof(struct ft_config, name##_bytes)
#define OFFSET_TIME(name) offsetof(struct ft_config, name##_ns)

enum { START, LIVE };

const struct ft_config_key ft_config_keys[FT_CONFIG_KEYS] = {
#define GROUP(title)
#define KEY(kind, key, default, allowed, when, text)   \
    [FT_CONFIG_##key] = {.name = #key,                 \
                         .type = FT_CONFIG_##kind,     \
                         .offset = OFFSET_##kind(key), \
                         .value = (default),           \
                         allowed,                      \
                         .is_live = (when),            \
                         .help = (text)},
#include "daemon/config.def"
};

struct unit {
    const char *suffix;
    int64_t factor;
};

static const struct unit byte_units[] = {
    {"", 1},  {"K", INT64_C(1) << 10}, {"M", INT64_C(1) << 20}, {"G", INT64_C(1) << 30}, {"T", INT64_C(1) << 40},
    {NULL, 0}};

static const struct unit time_units[] = {{"ns", 1},
                                         {"us", 1000},
                                         {"ms", 1000000},
                                         {"s", 1000000000},
                                         {"", 1000000000},
                                         {"m", 60 * INT64_C(1000000000)},
                                         {"h", 3600 * INT64_C(1000000000)},
                                         {"d", 86400 * INT64_C(1000000000)},
                                         {NULL, 0}};

static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

__attribute__((format(printf, 2, 3))) static int refused(struct ft_config_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return -EINVAL;
}

static int parse_scaled(const char *text, const struct unit *units, int64_t *out)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end == text)
        return -EINVAL;
    for (; units->suffix; units++) {
        int64_t product;
        if (strcmp(units->suffix, end) != 0)
            continue;
        if (__builtin_mul_overflow((int64_t)number, units->factor, &product))
            return -EINVAL;
        *out = product;
        return 0;
    }
    return -EINVAL;
}

static int parse_bool(const char *text, int64_t *out)
{
    static const char *const words[2][4] = {{"no", "off", "false", "0"}, {"yes", "on", "true", "1"}};
    for (int value = 0; value < 2; value++)
        for (size_t i = 0; i < 4; i++)
            if (strcmp(words[value][i], text) == 0) {
                *out = value;
                return 0;
            }
    return -EINVAL;
}

static int parse_number(const struct ft_config_key *key, const char *text, int64_t *out)
{
    switch (key->type) {
    case FT_CONFIG_BOOL:
        return parse_bool(text, out);
    case FT_CONFIG_BYTES:
        return parse_scaled(text, byte_units, out);
    case FT_CONFIG_TIME:
        return parse_scaled(text, time_units, out);
    case FT_CONFIG_NUMBER:
    case FT_CONFIG_STRING:
    case FT_CONFIG_WORD:
        break;
    }
    return parse_scaled(text, no_units, out);
}

// Whether `words`, separated by `|`, have this one.
static bool has_word(const char *words, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strcspn(at, "|") == bytes && memcmp(at, word, bytes) == 0)
            return true;
    return false;
}

const struct ft_config_key *ft_config_find(const char *name)
{
    for (size_t i = 0; i < FT_CONFIG_KEYS; i++)
        if (strcmp(ft_config_keys[i].name, name) == 0)
            return &ft_config_keys[i];
    return NULL;
}

struct ft_config_value *ft_config_value(struct ft_config *config, const struct ft_config_key *key)
{
    return &config->values[key - ft_config_keys];
}

static bool is_text(const struct ft_config_key *key)
{
    return key->type == FT_CONFIG_STRING || key->type == FT_CONFIG_WORD;
}

static void *field_of(struct ft_config *config, const struct ft_config_key *key)
{
    return (char *)config + key->offset;
}

static int set_text(struct ft_config *config, const struct ft_config_key *key, const char *value,
                    struct ft_config_error *error)
{
    int64_t length = (int64_t)strlen(value);
    if (key->words && !has_word(key->words, value))
        return refused(error, "%s: %.64s is none of %s", key->name, value, key->words);
    if (!key->words && (length < key->least || length > key->most))
        return refused(error, "%s: must have %lld to %lld bytes", key->name, (long long)key->least,
                       (long long)key->most);
    char *copy = strdup(value), **field = field_of(config, key);
    if (!copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

static int set_number(struct ft_config *config, const struct ft_config_key *key, const char *value,
                      struct ft_config_error *error)
{
    int64_t number;
    if (parse_number(key, value, &number) < 0)
        return refused(error, "%s: %.64s is no value for it", key->name, value);
    if (number < key->least || number > key->most)
        return refused(error, "%s: %.64s is out of range", key->name, value);
    atomic_store((_Atomic int64_t *)field_of(config, key), number);
    return 0;
}

// Takes both, which may be NULL.
static void note_origin(struct ft_config_value *value, char *text, char *origin)
{
    free(value->text);
    free(value->origin);
    value->text = text;
    value->origin = origin;
}

int ft_config_set(struct ft_config *config, const char *name, const char *value, const char *origin,
                  struct ft_config_error *error)
{
    const struct ft_config_key *key = ft_config_find(name);
    if (!key)
        return refused(error, "%.64s: there is no such key", name);
    char *text = strdup(value), *from = origin ? strdup(origin) : NULL;
    int r = text && (from || !origin) ? 0 : -ENOMEM;
    if (r == 0)
        r = is_text(key) ? set_text(config, key, value, error) : set_number(config, key, value, error);
    if (r == -ENOMEM)
        snprintf(error->text, sizeof(error->text), "%s", strerror(ENOMEM));
    if (r == 0) {
        note_origin(ft_config_value(config, key), text, from);
        return 0;
    }
    free(text);
    free(from);
    return r;
}

int ft_config_set_pair(struct ft_config *config, const char *pair, struct ft_config_error *error)
{
    const char *equals = strchr(pair, '=');
    char name[64];
    if (!equals || (size_t)(equals - pair) >= sizeof(name))
        return refused(error, "%.64s: not of the form key=value", pair);
    memcpy(name, pair, (size_t)(equals - pair));
    name[equals - pair] = '\0';
    return ft_config_set(config, name, equals + 1, "--set", error);
}

int ft_config_init(struct ft_config *config)
{
    struct ft_config_error error;
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < FT_CONFIG_KEYS; i++) {
        int r = ft_config_set(config, ft_config_keys[i].name, ft_config_keys[i].value, NULL, &error);
        if (r < 0) {
            ft_config_fini(config);
            return r;
        }
    }
    return 0;
}

void ft_config_fini(struct ft_config *config)
{
    for (size_t i = 0; i < FT_CONFIG_KEYS; i++) {
        const struct ft_config_key *key = &ft_config_keys[i];
        char **field = is_text(key) ? field_of(config, key) : NULL;
        if (field) {
            free(*field);
            *field = NULL;
        }
        note_origin(&config->values[i], NULL, NULL);
        free(config->values[i].waiting);
        config->values[i].waiting = NULL;
    }
}

static bool is_same(struct ft_config *a, struct ft_config *b, const struct ft_config_key *key)
{
    if (is_text(key))
        return strcmp(*(char **)field_of(a, key), *(char **)field_of(b, key)) == 0;
    return atomic_load((_Atomic int64_t *)field_of(a, key)) == atomic_load((_Atomic int64_t *)field_of(b, key));
}

static void swap(char **a, char **b)
{
    char *before = *a;
    *a = *b;
    *b = before;
}

static void take_field(struct ft_config *config, struct ft_config *fresh, const struct ft_config_key *key)
{
    if (is_text(key))
        swap(field_of(config, key), field_of(fresh, key));
    else
        atomic_store((_Atomic int64_t *)field_of(config, key), atomic_load((_Atomic int64_t *)field_of(fresh, key)));
}

void ft_config_take(struct ft_config *config, struct ft_config *fresh,
                    void (*change)(const struct ft_config_key *key, const struct ft_config_value *value, bool is_taken))
{
    for (size_t i = 0; i < FT_CONFIG_KEYS; i++) {
        const struct ft_config_key *key = &ft_config_keys[i];
        struct ft_config_value *now = &config->values[i], *next = &fresh->values[i];
        bool is_change = !is_same(config, fresh, key), is_taken = key->is_live || !is_change;
        free(now->waiting);
        now->waiting = NULL;
        if (is_change)
            change(key, next, is_taken);
        if (!is_taken) {
            swap(&now->waiting, &next->text);
            continue;
        }
        take_field(config, fresh, key);
        swap(&now->text, &next->text);
        swap(&now->origin, &next->origin);
    }
}

// SPDX-License-Identifier: MIT
#include "daemon/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"

enum key_type { STRING, BOOL, NUMBER, BYTES, TIME };

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    const char *value;
    int64_t least, most;
    const char *help;
};

#define OFFSET_STRING(name) offsetof(struct ft_config, name)
#define OFFSET_BOOL(name) offsetof(struct ft_config, name)
#define OFFSET_NUMBER(name) offsetof(struct ft_config, name)
#define OFFSET_BYTES(name) offsetof(struct ft_config, name##_bytes)
#define OFFSET_TIME(name) offsetof(struct ft_config, name##_ns)

static const struct key keys[] = {
#define X(type, name, value, least, most, help) {#name, type, OFFSET_##type(name), value, least, most, help},
    FT_CONFIG_KEYS(X)
#undef X
};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

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

static int parse_value(const struct key *key, const char *text, int64_t *out)
{
    switch (key->type) {
    case BOOL:
        return parse_bool(text, out);
    case BYTES:
        return parse_scaled(text, byte_units, out);
    case TIME:
        return parse_scaled(text, time_units, out);
    case NUMBER:
    case STRING:
        break;
    }
    return parse_scaled(text, no_units, out);
}

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static int set_string(char **field, const struct key *key, const char *value, struct ft_config_error *error)
{
    size_t length = strlen(value);
    if ((int64_t)length < key->least || (int64_t)length > key->most)
        return refused(error, "%s: must have %lld to %lld bytes", key->name, (long long)key->least,
                       (long long)key->most);
    char *copy = strdup(value);
    if (!copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

int ft_config_set(struct ft_config *config, const char *name, const char *value, struct ft_config_error *error)
{
    const struct key *key = find_key(name);
    if (!key)
        return refused(error, "%.64s: there is no such key", name);
    void *field = (char *)config + key->offset;
    if (key->type == STRING)
        return set_string(field, key, value, error);
    int64_t number;
    if (parse_value(key, value, &number) < 0)
        return refused(error, "%s: %.64s is no value for it", name, value);
    if (number < key->least || number > key->most)
        return refused(error, "%s: %.64s is out of range", name, value);
    memcpy(field, &number, sizeof(number));
    return 0;
}

int ft_config_set_pair(struct ft_config *config, const char *pair, struct ft_config_error *error)
{
    const char *equals = strchr(pair, '=');
    char name[64];
    if (!equals || (size_t)(equals - pair) >= sizeof(name))
        return refused(error, "%.64s: not of the form key=value", pair);
    memcpy(name, pair, (size_t)(equals - pair));
    name[equals - pair] = '\0';
    return ft_config_set(config, name, equals + 1, error);
}

int ft_config_init(struct ft_config *config)
{
    struct ft_config_error error;
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < KEY_COUNT; i++) {
        int r = ft_config_set(config, keys[i].name, keys[i].value, &error);
        if (r < 0) {
            ft_config_fini(config);
            return r;
        }
    }
    return 0;
}

void ft_config_fini(struct ft_config *config)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].type == STRING) {
            char **field = (void *)((char *)config + keys[i].offset);
            free(*field);
            *field = NULL;
        }
}

int ft_config_check(const struct ft_config *config, struct ft_config_error *error)
{
    if (strcmp(config->mode, "trace") != 0 && strcmp(config->mode, "off") != 0)
        return refused(error, "mode: %.32s is neither trace nor off", config->mode);
    if (ft_log_level_parse(config->log_level) < 0)
        return refused(error, "log_level: %.32s is none of err, warning, info, debug", config->log_level);
    return 0;
}

void ft_config_print_keys(FILE *out)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        fprintf(out, "  %-22s  %s [%s]\n", keys[i].name, keys[i].help, keys[i].value);
}

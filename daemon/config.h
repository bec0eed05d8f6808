// SPDX-License-Identifier: MIT
//
// Configuration. config.def is the only place where a key is named.
//
// Order, later wins: defaults, /etc/flowtap/flowtapd.conf, its drop-ins flowtapd.conf.d/*.conf in order of their
// names, `--set key=value`. Of each value it is known where it came from.
//
// Numbers may be read by any thread at any moment; texts that are LIVE belong to the loop.
#ifndef FT_DAEMON_CONFIG_H
#define FT_DAEMON_CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FT_CONFIG_DEFAULT_PATH "/etc/flowtap/flowtapd.conf"
#define FT_CONFIG_SECTION "flowtapd"

enum ft_config_id {
#define GROUP(title)
#define KEY(type, name, value, allowed, when, help) FT_CONFIG_##name,
#include "daemon/config.def"
    FT_CONFIG_KEYS
};

// A value as it was written, and by whom. What is NULL does not hold.
struct ft_config_value {
    char *text;
    char *origin;  // "FILE:LINE" or "--set"; NULL: the default
    char *waiting; // what the files say by now, and a restart would bring
};

struct ft_config {
#define FT_CONFIG_FIELD_STRING(name) char *name;
#define FT_CONFIG_FIELD_WORD(name) char *name;
#define FT_CONFIG_FIELD_BOOL(name) _Atomic int64_t name;
#define FT_CONFIG_FIELD_NUMBER(name) _Atomic int64_t name;
#define FT_CONFIG_FIELD_BYTES(name) _Atomic int64_t name##_bytes;
#define FT_CONFIG_FIELD_TIME(name) _Atomic int64_t name##_ns;
#define GROUP(title)
#define KEY(type, name, value, allowed, when, help) FT_CONFIG_FIELD_##type(name)
#include "daemon/config.def"
    struct ft_config_value values[FT_CONFIG_KEYS];
};

enum ft_config_type {
    FT_CONFIG_STRING,
    FT_CONFIG_WORD,
    FT_CONFIG_BOOL,
    FT_CONFIG_NUMBER,
    FT_CONFIG_BYTES,
    FT_CONFIG_TIME
};

struct ft_config_key {
    const char *name;
    enum ft_config_type type;
    size_t offset; // in struct ft_config
    const char *value, *words;
    int64_t least, most;
    bool is_live;
    const char *help;
};

extern const struct ft_config_key ft_config_keys[FT_CONFIG_KEYS];

// What is wrong, line by line: each is told, and counted. An error makes the configuration unusable; what is odd is not
// what was meant, and works.
struct ft_config_report {
    unsigned errors, odd;
    void (*tell)(bool is_error, const char *text); // NULL: nobody wants to know
    bool only_check;                               // no daemon begins, whose own words tell the rest
};

// Why one value was refused: one line, without the file's name.
struct ft_config_error {
    char text[256];
};

// Fills in the defaults. Release with ft_config_fini().
int ft_config_init(struct ft_config *config);
void ft_config_fini(struct ft_config *config);

// One key; -EINVAL with a reason where key or value are no good, -ENOMEM. Nothing changes on error.
int ft_config_set(struct ft_config *config, const char *key, const char *value, const char *origin,
                  struct ft_config_error *error);

// `key=value`, as of --set.
int ft_config_set_pair(struct ft_config *config, const char *pair, struct ft_config_error *error);

// The key of this name; NULL where there is none.
const struct ft_config_key *ft_config_find(const char *name);
struct ft_config_value *ft_config_value(struct ft_config *config, const struct ft_config_key *key);

// Reads text of the configuration file `path` to its end, past what is wrong.
void ft_config_parse(struct ft_config *config, const char *path, const char *text, size_t length,
                     struct ft_config_report *report);

// The file and its drop-ins; a missing file is no error.
void ft_config_load(struct ft_config *config, const char *path, struct ft_config_report *report);

__attribute__((format(printf, 3, 4))) void ft_config_tell(struct ft_config_report *report, bool is_error,
                                                          const char *format, ...);

// Keys that contradict each other.
void ft_config_check(const struct ft_config *config, struct ft_config_report *report);

// The configuration was read again: takes what is LIVE from `fresh`. `change` is told of each key that is not as it was;
// one that is not taken waits for a restart.
void ft_config_take(struct ft_config *config, struct ft_config *fresh,
                    void (*change)(const struct ft_config_key *key, const struct ft_config_value *value,
                                   bool is_taken));

// Every key with its default and meaning: for --help, and as the file that is installed.
void ft_config_print_keys(FILE *out);
void ft_config_print_file(FILE *out);

#endif

// SPDX-License-Identifier: MIT
/*
 * A streaming JSON writer: commas and nesting are kept here, so that a document is valid whatever is written.
 *
 * Strings are bytes. Valid UTF-8 goes out as it is. Where a value is not UTF-8, ft_json_member_text() writes the
 * escaped form of text.h under the key, and beside it `<key>_bytes`: the exact bytes in base64. So a key `path` with no
 * `path_bytes` beside it is the name itself, and with it, `path` is for people and `path_bytes` for programs.
 */
#ifndef FT_CLI_JSON_H
#define FT_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FT_JSON_DEPTH_MAX = 32, FT_JSON_BUFFER_BYTES = 1 << 15 };

struct ft_json {
    FILE *out;
    unsigned depth;
    bool is_pretty; /* one member of the outer levels a line */
    bool is_after_key;
    bool has_member[FT_JSON_DEPTH_MAX];
    size_t used;
    char buffer[FT_JSON_BUFFER_BYTES];
};

void ft_json_init(struct ft_json *json, FILE *out, bool is_pretty);

void ft_json_begin_object(struct ft_json *json);
void ft_json_end_object(struct ft_json *json);
void ft_json_begin_array(struct ft_json *json);
void ft_json_end_array(struct ft_json *json);
/* `key` must need no escaping. */
void ft_json_key(struct ft_json *json, const char *key);
/* A key of any bytes, such as a tag's; not UTF-8 is escaped. */
void ft_json_key_bytes(struct ft_json *json, const char *bytes, size_t count);

void ft_json_text(struct ft_json *json, const char *bytes, size_t count);
void ft_json_string(struct ft_json *json, const char *text);
void ft_json_int(struct ft_json *json, int64_t value);
void ft_json_uint(struct ft_json *json, uint64_t value);
void ft_json_bool(struct ft_json *json, bool value);
void ft_json_null(struct ft_json *json);
void ft_json_double(struct ft_json *json, double value); /* null where it is not finite */
void ft_json_exact(struct ft_json *json, double value);  /* the same, all digits that tell it from others */
void ft_json_seconds(struct ft_json *json, int64_t ns);  /* exact decimal fraction */
void ft_json_base64(struct ft_json *json, const void *bytes, size_t count);

void ft_json_member_text(struct ft_json *json, const char *key, const char *bytes, size_t count);
void ft_json_member_string(struct ft_json *json, const char *key, const char *text);
void ft_json_member_int(struct ft_json *json, const char *key, int64_t value);
void ft_json_member_uint(struct ft_json *json, const char *key, uint64_t value);
void ft_json_member_bool(struct ft_json *json, const char *key, bool value);
void ft_json_member_double(struct ft_json *json, const char *key, double value);
void ft_json_member_seconds(struct ft_json *json, const char *key, int64_t ns);
/* The same where it is known; else null. */
void ft_json_member_uint_if(struct ft_json *json, const char *key, bool is_known, uint64_t value);
void ft_json_member_double_if(struct ft_json *json, const char *key, bool is_known, double value);
void ft_json_member_seconds_if(struct ft_json *json, const char *key, bool is_known, int64_t ns);

/* End of a line of JSON lines. */
void ft_json_end_line(struct ft_json *json);
/* What is still kept here goes to `out`; once, at the end. */
void ft_json_flush(struct ft_json *json);

#endif

// SPDX-License-Identifier: MIT
#include "client/cli/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/text.h"

enum { PRETTY_DEPTH = 2 };

void ft_json_init(struct ft_json *json, FILE *out, bool is_pretty)
{
    memset(json, 0, sizeof(*json));
    json->out = out;
    json->is_pretty = is_pretty;
}

static void put(struct ft_json *json, const char *bytes, size_t count)
{
    fwrite_unlocked(bytes, 1, count, json->out);
}

static void put_char(struct ft_json *json, char c)
{
    putc_unlocked(c, json->out);
}

static void put_indent(struct ft_json *json)
{
    if (json->is_pretty && json->depth <= PRETTY_DEPTH) {
        put_char(json, '\n');
        for (unsigned i = 0; i < json->depth; i++) {
            put(json, "  ", 2);
        }
    }
}

/* Whatever comes before a value or a key: comma and line. */
static void begin_item(struct ft_json *json)
{
    if (json->is_after_key) {
        json->is_after_key = false;
        return;
    }
    if (json->depth == 0) {
        return;
    }
    if (json->has_member[json->depth]) {
        put_char(json, ',');
        if (json->is_pretty && json->depth > PRETTY_DEPTH) {
            put_char(json, ' ');
        }
    }
    json->has_member[json->depth] = true;
    put_indent(json);
}

static void open_level(struct ft_json *json, char bracket)
{
    begin_item(json);
    put_char(json, bracket);
    if (json->depth + 1 >= FT_JSON_DEPTH_MAX) {
        abort();
    }
    json->has_member[++json->depth] = false;
}

static void close_level(struct ft_json *json, char bracket)
{
    bool had_member = json->has_member[json->depth--];
    if (had_member && json->depth < PRETTY_DEPTH) {
        put_indent(json);
    }
    put_char(json, bracket);
}

void ft_json_begin_object(struct ft_json *json)
{
    open_level(json, '{');
}

void ft_json_end_object(struct ft_json *json)
{
    close_level(json, '}');
}

void ft_json_begin_array(struct ft_json *json)
{
    open_level(json, '[');
}

void ft_json_end_array(struct ft_json *json)
{
    close_level(json, ']');
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/* One character that JSON wants escaped. */
static void put_escaped(struct ft_json *json, unsigned char byte)
{
    static const char shorts[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const char *found = byte ? strchr(shorts, byte) : NULL;
    char text[8];
    if (found) {
        put_char(json, '\\');
        put_char(json, letters[found - shorts]);
    } else {
        put(json, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", byte));
    }
}

/* Valid UTF-8 only. */
static void put_quoted(struct ft_json *json, const char *bytes, size_t count)
{
    put_char(json, '"');
    size_t from = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (is_plain(byte) || byte >= 0x80) {
            continue;
        }
        put(json, bytes + from, i - from);
        put_escaped(json, byte);
        from = i + 1;
    }
    put(json, bytes + from, count - from);
    put_char(json, '"');
}

static void put_text(struct ft_json *json, const char *bytes, size_t count)
{
    if (ft_text_is_utf8(bytes, count)) {
        put_quoted(json, bytes, count);
        return;
    }
    char *escaped = ft_text_escape(bytes, count, FT_TEXT_JSON);
    put_quoted(json, escaped, strlen(escaped));
    free(escaped);
}

static void end_key(struct ft_json *json)
{
    put_char(json, ':');
    if (json->is_pretty) {
        put_char(json, ' ');
    }
    json->is_after_key = true;
}

void ft_json_key(struct ft_json *json, const char *key)
{
    ft_json_key_bytes(json, key, strlen(key));
}

void ft_json_key_bytes(struct ft_json *json, const char *bytes, size_t count)
{
    begin_item(json);
    put_text(json, bytes, count);
    end_key(json);
}

void ft_json_text(struct ft_json *json, const char *bytes, size_t count)
{
    begin_item(json);
    put_text(json, bytes, count);
}

void ft_json_string(struct ft_json *json, const char *text)
{
    ft_json_text(json, text, strlen(text));
}

static void put_number(struct ft_json *json, const char *text)
{
    begin_item(json);
    put(json, text, strlen(text));
}

void ft_json_int(struct ft_json *json, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    put_number(json, text);
}

void ft_json_uint(struct ft_json *json, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    put_number(json, text);
}

void ft_json_bool(struct ft_json *json, bool value)
{
    put_number(json, value ? "true" : "false");
}

void ft_json_null(struct ft_json *json)
{
    put_number(json, "null");
}

void ft_json_double(struct ft_json *json, double value)
{
    char text[40];
    if (isfinite(value)) {
        snprintf(text, sizeof(text), "%.12g", value);
        put_number(json, text);
    } else {
        ft_json_null(json);
    }
}

void ft_json_seconds(struct ft_json *json, int64_t ns)
{
    char text[40];
    uint64_t amount = ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns;
    int length = snprintf(text, sizeof(text), "%s%" PRIu64 ".%09u", ns < 0 ? "-" : "", amount / 1000000000u,
                          (unsigned)(amount % 1000000000u));
    while (text[length - 1] == '0' && text[length - 2] != '.') {
        text[--length] = '\0';
    }
    put_number(json, text);
}

void ft_json_base64(struct ft_json *json, const void *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    begin_item(json);
    put_char(json, '"');
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i < 3 ? count - i : 3;
        unsigned word = (unsigned)from[i] << 16;
        word |= left > 1 ? (unsigned)from[i + 1] << 8 : 0;
        word |= left > 2 ? (unsigned)from[i + 2] : 0;
        put_char(json, digits[word >> 18]);
        put_char(json, digits[word >> 12 & 63]);
        put_char(json, left > 1 ? digits[word >> 6 & 63] : '=');
        put_char(json, left > 2 ? digits[word & 63] : '=');
    }
    put_char(json, '"');
}

void ft_json_member_text(struct ft_json *json, const char *key, const char *bytes, size_t count)
{
    ft_json_key(json, key);
    ft_json_text(json, bytes, count);
    if (!ft_text_is_utf8(bytes, count)) {
        char name[64];
        snprintf(name, sizeof(name), "%s_bytes", key);
        ft_json_key(json, name);
        ft_json_base64(json, bytes, count);
    }
}

void ft_json_member_string(struct ft_json *json, const char *key, const char *text)
{
    ft_json_key(json, key);
    ft_json_string(json, text);
}

void ft_json_member_int(struct ft_json *json, const char *key, int64_t value)
{
    ft_json_key(json, key);
    ft_json_int(json, value);
}

void ft_json_member_uint(struct ft_json *json, const char *key, uint64_t value)
{
    ft_json_key(json, key);
    ft_json_uint(json, value);
}

void ft_json_member_bool(struct ft_json *json, const char *key, bool value)
{
    ft_json_key(json, key);
    ft_json_bool(json, value);
}

void ft_json_member_double(struct ft_json *json, const char *key, double value)
{
    ft_json_key(json, key);
    ft_json_double(json, value);
}

void ft_json_member_seconds(struct ft_json *json, const char *key, int64_t ns)
{
    ft_json_key(json, key);
    ft_json_seconds(json, ns);
}

void ft_json_end_line(struct ft_json *json)
{
    put_char(json, '\n');
}

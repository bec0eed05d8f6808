// SPDX-License-Identifier: MIT
#include "client/cli/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/text.h"

enum { PRETTY_DEPTH = 2 };

void ft_json_init(struct ft_json *json, FILE *out, bool is_pretty)
{
    memset(json, 0, offsetof(struct ft_json, buffer));
    json->out = out;
    json->is_pretty = is_pretty;
}

void ft_json_flush(struct ft_json *json)
{
    ft_cli_note_write(fwrite_unlocked(json->buffer, 1, json->used, json->out) == json->used);
    json->used = 0;
}

static void put(struct ft_json *json, const char *bytes, size_t count)
{
    if (count > sizeof(json->buffer) - json->used) {
        ft_json_flush(json);
    }
    if (count > sizeof(json->buffer)) {
        ft_cli_note_write(fwrite_unlocked(bytes, 1, count, json->out) == count);
        return;
    }
    memcpy(json->buffer + json->used, bytes, count);
    json->used += count;
}

static void put_char(struct ft_json *json, char c)
{
    if (json->used == sizeof(json->buffer)) {
        ft_json_flush(json);
    }
    json->buffer[json->used++] = c;
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

/* ASCII that stands for itself: nearly every name. */
static bool is_all_plain(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_plain((unsigned char)bytes[i])) {
            return false;
        }
    }
    return true;
}

static void put_text(struct ft_json *json, const char *bytes, size_t count)
{
    if (is_all_plain(bytes, count)) {
        put_char(json, '"');
        put(json, bytes, count);
        put_char(json, '"');
        return;
    }
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
    begin_item(json);
    put_char(json, '"');
    put(json, key, strlen(key));
    put_char(json, '"');
    end_key(json);
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

/* Decimal digits before `end`, at least `least` of them; where they begin. */
static char *digits_before(char *end, uint64_t value, int least)
{
    for (; value > 0 || least > 0; value /= 10, least--) {
        *--end = (char)('0' + value % 10);
    }
    return end;
}

static uint64_t amount_of(int64_t value)
{
    return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
}

void ft_json_int(struct ft_json *json, int64_t value)
{
    char text[24], *end = text + sizeof(text), *at = digits_before(end, amount_of(value), 1);
    if (value < 0) {
        *--at = '-';
    }
    begin_item(json);
    put(json, at, (size_t)(end - at));
}

void ft_json_uint(struct ft_json *json, uint64_t value)
{
    char text[24], *end = text + sizeof(text), *at = digits_before(end, value, 1);
    begin_item(json);
    put(json, at, (size_t)(end - at));
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

void ft_json_exact(struct ft_json *json, double value)
{
    char text[40];
    if (!isfinite(value)) {
        ft_json_null(json);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (memcmp(&back, &value, sizeof(back)) == 0) {
            break;
        }
    }
    put_number(json, text);
}

void ft_json_seconds(struct ft_json *json, int64_t ns)
{
    uint64_t amount = amount_of(ns);
    char text[40], *end = text + sizeof(text), *at = digits_before(end, amount % 1000000000u, 9);
    *--at = '.';
    at = digits_before(at, amount / 1000000000u, 1);
    if (ns < 0) {
        *--at = '-';
    }
    while (end[-1] == '0' && end[-2] != '.') {
        end--;
    }
    begin_item(json);
    put(json, at, (size_t)(end - at));
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

void ft_json_end_line(struct ft_json *json)
{
    put_char(json, '\n');
}

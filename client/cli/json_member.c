// SPDX-License-Identifier: MIT
/* Members of objects: a key and its value in one call. */
#include <string.h>

#include "client/cli/json.h"
#include "client/cli/text.h"

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

void ft_json_member_uint_if(struct ft_json *json, const char *key, bool is_known, uint64_t value)
{
    ft_json_key(json, key);
    is_known ? ft_json_uint(json, value) : ft_json_null(json);
}

void ft_json_member_double_if(struct ft_json *json, const char *key, bool is_known, double value)
{
    ft_json_key(json, key);
    is_known ? ft_json_double(json, value) : ft_json_null(json);
}

void ft_json_member_seconds_if(struct ft_json *json, const char *key, bool is_known, int64_t ns)
{
    ft_json_key(json, key);
    is_known ? ft_json_seconds(json, ns) : ft_json_null(json);
}

// SPDX-License-Identifier: MIT
#include "client/cli/status_config.h"

#include <stdlib.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"
#include "client/cli/json.h"
#include "client/cli/table.h"
#include "client/cli/text.h"

typedef Flowtap__Config__Key key_message;

static void add_bytes(struct ft_table *table, ProtobufCBinaryData bytes, const char *if_empty)
{
    char *text = ft_text_escape((const char *)bytes.data, bytes.len, FT_TEXT_SHOW);
    ft_table_add(table, bytes.len ? text : if_empty);
    free(text);
}

static void print_waiting(const struct ft_screen *screen, const Flowtap__Config *config)
{
    for (size_t i = 0; i < config->n_keys; i++) {
        const key_message *key = config->keys[i];
        if (!key->is_other) {
            continue;
        }
        char *text = ft_text_escape((const char *)key->waiting.data, key->waiting.len, FT_TEXT_SHOW);
        ft_screen_print(screen, FT_STYLE_WARN, "%s = %s waits for a restart\n", key->name, text);
        free(text);
    }
}

static void print_text(const ProtobufCMessage *reply, const char *socket)
{
    const Flowtap__Config *config = (const void *)reply;
    (void)socket;
    static const struct ft_column columns[] = {{"KEY", false, false}, {"VALUE", false, false}, {"FROM", false, false}};
    struct ft_screen screen;
    struct ft_table table;
    ft_screen_init(&screen, stdout);
    ft_table_init(&table, columns, 3);
    for (size_t i = 0; i < config->n_keys; i++) {
        const key_message *key = config->keys[i];
        ft_table_add(&table, key->name);
        add_bytes(&table, key->value, "");
        add_bytes(&table, key->origin, "default");
    }
    ft_table_print(&table, &screen, 0);
    ft_table_fini(&table);
    print_waiting(&screen, config);
}

static void put_bytes(struct ft_json *json, const char *name, ProtobufCBinaryData bytes)
{
    ft_json_member_text(json, name, (const char *)bytes.data, bytes.len);
}

static void put_key(struct ft_json *json, const key_message *key)
{
    const ProtobufCBinaryData by_default = {7, (uint8_t *)(uintptr_t)"default"};
    ft_json_begin_object(json);
    ft_json_member_string(json, "key", key->name);
    put_bytes(json, "value", key->value);
    put_bytes(json, "default", key->default_);
    put_bytes(json, "from", key->origin.len ? key->origin : by_default);
    ft_json_member_bool(json, "reload", key->is_live);
    if (key->is_other) {
        put_bytes(json, "waiting", key->waiting);
    }
    ft_json_end_object(json);
}

static void print_json(const ProtobufCMessage *reply, const char *socket)
{
    const Flowtap__Config *config = (const void *)reply;
    (void)socket;
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    put_bytes(&json, "path", config->path);
    ft_json_key(&json, "config");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < config->n_keys; i++) {
        put_key(&json, config->keys[i]);
    }
    ft_json_end_array(&json);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static int ask(const char *socket, ProtobufCMessage **reply)
{
    Flowtap__Config *config = NULL;
    int error = ft_ask_config(socket, &config);
    *reply = config ? &config->base : NULL;
    return error;
}

const struct ft_daemon_report ft_status_config = {.ask = ask, .print_text = print_text, .print_json = print_json};

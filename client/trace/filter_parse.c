// SPDX-License-Identifier: MIT
/* Text to tree: one pass, each rule of the grammar one function, with a bound on its depth. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/filter_impl.h"

enum { NOTHING = FT_FILTER_NOTHING };

struct parser {
    const char *text;
    size_t at, count;
    unsigned depth;
    struct ft_filter *filter;
    struct ft_filter_error *error;
};

static uint16_t parse_or(struct parser *parser);

static __attribute__((format(printf, 3, 4))) uint16_t wrong(struct parser *parser, size_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    parser->error->at = at;
    vsnprintf(parser->error->text, sizeof(parser->error->text), format, arguments);
    va_end(arguments);
    return NOTHING;
}

static void *alloc(struct parser *parser, size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        parser->error->is_memory = true;
        wrong(parser, parser->at, "out of memory");
    }
    return memory;
}

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->count && strchr(" \t\r\n", parser->text[parser->at])) {
        parser->at++;
    }
}

static bool take(struct parser *parser, const char *token)
{
    size_t length = strlen(token);
    skip_blanks(parser);
    if (parser->count - parser->at < length || memcmp(parser->text + parser->at, token, length) != 0) {
        return false;
    }
    parser->at += length;
    return true;
}

static uint16_t new_node(struct parser *parser, enum ft_filter_node_kind kind, uint16_t left, uint16_t right)
{
    struct ft_filter *filter = parser->filter;
    if (left == NOTHING || right == NOTHING) {
        return NOTHING;
    }
    if (filter->count == FT_FILTER_NODES_MAX) {
        return wrong(parser, parser->at, "too many comparisons");
    }
    filter->nodes[filter->count] = (struct ft_filter_node){.kind = kind, .left = left, .right = right};
    return (uint16_t)filter->count++;
}

static bool is_word(char c, const char *also)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c && strchr(also, c));
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One byte of a string in double quotes: \" \\ \xHH; any other backslash stays, as patterns have them. */
static char unescape(struct parser *parser)
{
    const char *at = parser->text + parser->at;
    size_t left = parser->count - parser->at;
    if (left >= 2 && at[0] == '\\' && (at[1] == '"' || at[1] == '\\')) {
        parser->at += 2;
        return at[1];
    }
    if (left >= 4 && at[0] == '\\' && at[1] == 'x' && hex(at[2]) >= 0 && hex(at[3]) >= 0) {
        parser->at += 4;
        return (char)(hex(at[2]) << 4 | hex(at[3]));
    }
    parser->at++;
    return at[0];
}

static char *take_quoted(struct parser *parser, size_t *count)
{
    size_t begin = parser->at;
    char quote = parser->text[parser->at++], *out = alloc(parser, parser->count - begin + 1);
    *count = 0;
    if (!out) {
        return NULL;
    }
    while (parser->at < parser->count && parser->text[parser->at] != quote) {
        out[(*count)++] = quote == '"' ? unescape(parser) : parser->text[parser->at++];
    }
    if (parser->at == parser->count) {
        wrong(parser, begin, "the string that begins here has no end");
        free(out);
        return NULL;
    }
    parser->at++;
    return out;
}

/* A string, or a word of the characters that `is_part` takes; NULL with an error where there is neither. */
static char *take_value(struct parser *parser, bool is_key, size_t *count)
{
    size_t begin = parser->at;
    if (parser->at < parser->count && strchr("\"'", parser->text[parser->at])) {
        return take_quoted(parser, count);
    }
    while (parser->at < parser->count && (is_key ? is_word(parser->text[parser->at], ".-:/")
                                                 : !strchr(" \t\r\n()&|!<>=~\"'", parser->text[parser->at]))) {
        parser->at++;
    }
    *count = parser->at - begin;
    if (*count == 0) {
        wrong(parser, begin, is_key ? "the tag's name is missing" : "a value is missing");
        return NULL;
    }
    char *out = alloc(parser, *count + 1);
    return out ? memcpy(out, parser->text + begin, *count) : NULL;
}

static int take_field(struct parser *parser, struct ft_filter_node *test)
{
    skip_blanks(parser);
    size_t begin = parser->at;
    while (parser->at < parser->count && is_word(parser->text[parser->at], "")) {
        parser->at++;
    }
    size_t length = parser->at - begin;
    if (length == 0) {
        wrong(parser, begin, parser->at < parser->count ? "a field was expected" : "something is missing at the end");
        return -EINVAL;
    }
    unsigned field = ft_filter_field_find(parser->text + begin, length);
    if (field == FT_FIELD_COUNT) {
        wrong(parser, begin, "there is no field '%.*s'", (int)(length < 40 ? length : 40), parser->text + begin);
        return -EINVAL;
    }
    test->field = (uint16_t)field;
    if (field != FT_FIELD_TAG) {
        return 0;
    }
    if (!take(parser, ".")) {
        wrong(parser, parser->at, "a tag is tag.NAME");
        return -EINVAL;
    }
    test->key = take_value(parser, true, &test->key_count);
    return test->key ? 0 : -EINVAL;
}

static int take_op(struct parser *parser, struct ft_filter_node *test)
{
    static const struct {
        const char *token;
        enum ft_filter_op op;
    } ops[] = {{"==", FT_OP_EQ}, {"!=", FT_OP_NE}, {"!~", FT_OP_NOT_GLOB}, {"<=", FT_OP_LE}, {">=", FT_OP_GE},
               {"=", FT_OP_EQ},  {"<", FT_OP_LT},  {">", FT_OP_GT},        {"~", FT_OP_GLOB}};
    const struct ft_filter_field *field = &ft_filter_fields[test->field];
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (!take(parser, ops[i].token)) {
            continue;
        }
        test->op = ops[i].op;
        bool has_sense =
            field->is_number ? test->op < FT_OP_GLOB : !ft_filter_op_orders(test->op) || test->field == FT_FIELD_TAG;
        if (!has_sense) {
            wrong(parser, parser->at - strlen(ops[i].token), "%s is %s: %s does not compare it", field->name,
                  field->is_number ? "a number" : "text", ops[i].token);
        }
        return has_sense ? 0 : -EINVAL;
    }
    wrong(parser, parser->at, "one of = != < <= > >= ~ !~ was expected");
    return -EINVAL;
}

/* What the field is compared with, as it is compared. */
static int take_operand(struct parser *parser, struct ft_filter_node *test)
{
    const struct ft_filter_field *field = &ft_filter_fields[test->field];
    skip_blanks(parser);
    size_t begin = parser->at;
    test->text = take_value(parser, false, &test->text_count);
    if (!test->text) {
        return -EINVAL;
    }
    if (field->is_number) {
        parser->error->at = begin;
        return ft_filter_number(test->text, test->text_count, field->unit, &test->number, parser->error->text,
                                sizeof(parser->error->text));
    }
    if (ft_filter_op_orders(test->op) && !ft_filter_is_number(test->text, test->text_count, &test->number)) {
        wrong(parser, begin, "a number was expected, since only numbers are less or greater");
        return -EINVAL;
    }
    return 0;
}

static uint16_t parse_test(struct parser *parser)
{
    struct ft_filter_node test = {.kind = FT_NODE_TEST};
    uint16_t node = NOTHING;
    if (take_field(parser, &test) == 0 && take_op(parser, &test) == 0 && take_operand(parser, &test) == 0) {
        node = new_node(parser, FT_NODE_TEST, 0, 0);
    }
    if (node == NOTHING) {
        free(test.key);
        free(test.text);
    } else {
        parser->filter->nodes[node] = test;
    }
    return node;
}

static uint16_t parse_group(struct parser *parser, size_t begin)
{
    uint16_t node = parse_or(parser);
    if (node != NOTHING && !take(parser, ")")) {
        return parser->at < parser->count ? wrong(parser, parser->at, "&&, || or ) was expected")
                                          : wrong(parser, begin, "the ( here is not closed");
    }
    return node;
}

static uint16_t parse_not(struct parser *parser)
{
    uint16_t node;
    skip_blanks(parser);
    size_t begin = parser->at;
    if (parser->depth == FT_FILTER_DEPTH_MAX) {
        return wrong(parser, begin, "nested too deep");
    }
    parser->depth++;
    if (take(parser, "!")) {
        node = new_node(parser, FT_NODE_NOT, parse_not(parser), 0);
    } else if (take(parser, "(")) {
        node = parse_group(parser, begin);
    } else {
        node = parse_test(parser);
    }
    parser->depth--;
    return node;
}

static uint16_t parse_and(struct parser *parser)
{
    uint16_t left = parse_not(parser);
    while (left != NOTHING && take(parser, "&&")) {
        left = new_node(parser, FT_NODE_AND, left, parse_not(parser));
    }
    return left;
}

static uint16_t parse_or(struct parser *parser)
{
    uint16_t left = parse_and(parser);
    while (left != NOTHING && take(parser, "||")) {
        left = new_node(parser, FT_NODE_OR, left, parse_and(parser));
    }
    return left;
}

struct ft_filter *ft_filter_parse(const char *text, struct ft_filter_error *error)
{
    struct parser parser = {.text = text, .count = strlen(text), .error = error};
    memset(error, 0, sizeof(*error));
    struct ft_filter *filter = parser.filter = alloc(&parser, sizeof(*filter));
    if (!filter) {
        return NULL;
    }
    uint16_t root = parse_or(&parser);
    skip_blanks(&parser);
    if (root != NOTHING && parser.at < parser.count) {
        root = wrong(&parser, parser.at, "&& or || was expected");
    }
    if (root == NOTHING) {
        ft_filter_destroy(filter);
        return NULL;
    }
    filter->root = root;
    return filter;
}

int ft_filter_join(struct ft_filter *filter, enum ft_filter_node_kind join, uint16_t part, uint16_t *root)
{
    if (*root == NOTHING || part == NOTHING) {
        *root = *root == NOTHING ? part : *root;
        return 0;
    }
    if (filter->count == FT_FILTER_NODES_MAX) {
        return -E2BIG;
    }
    filter->nodes[filter->count] = (struct ft_filter_node){.kind = join, .left = *root, .right = part};
    *root = (uint16_t)filter->count++;
    return 0;
}

int ft_filter_add(struct ft_filter *filter, struct ft_filter_node *test, enum ft_filter_node_kind join, uint16_t *root)
{
    if (filter->count == FT_FILTER_NODES_MAX) {
        free(test->key);
        free(test->text);
        free(test->members);
        return -E2BIG;
    }
    test->kind = FT_NODE_TEST;
    filter->nodes[filter->count] = *test;
    return ft_filter_join(filter, join, (uint16_t)filter->count++, root);
}

void ft_filter_destroy(struct ft_filter *filter)
{
    for (size_t i = 0; filter && i < filter->count; i++) {
        free(filter->nodes[i].key);
        free(filter->nodes[i].text);
        free(filter->nodes[i].members);
    }
    free(filter);
}

// SPDX-License-Identifier: MIT
#include "client/cli/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cli/cli.h"

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0u) == 0x80u;
}

size_t ft_text_utf8_length(const char *bytes, size_t count)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (count == 0) {
        return 0;
    }
    if (b[0] < 0x80) {
        return 1;
    }
    if (b[0] >= 0xc2 && b[0] <= 0xdf) {
        return count >= 2 && is_continuation(b[1]) ? 2 : 0;
    }
    if (b[0] >= 0xe0 && b[0] <= 0xef && count >= 3 && is_continuation(b[1]) && is_continuation(b[2])) {
        bool overlong = b[0] == 0xe0 && b[1] < 0xa0, surrogate = b[0] == 0xed && b[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (b[0] >= 0xf0 && b[0] <= 0xf4 && count >= 4 && is_continuation(b[1]) && is_continuation(b[2]) &&
        is_continuation(b[3])) {
        bool overlong = b[0] == 0xf0 && b[1] < 0x90, beyond = b[0] == 0xf4 && b[1] > 0x8f;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

bool ft_text_is_utf8(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count;) {
        if ((unsigned char)bytes[i] < 0x80) {
            i++;
            continue;
        }
        size_t length = ft_text_utf8_length(bytes + i, count - i);
        if (length == 0) {
            return false;
        }
        i += length;
    }
    return true;
}

static bool is_control(const char *bytes, size_t length)
{
    unsigned char first = (unsigned char)bytes[0];
    if (length == 1) {
        return first < 0x20 || first == 0x7f;
    }
    /* C1 control characters, U+0080 to U+009F */
    return length == 2 && first == 0xc2 && (unsigned char)bytes[1] < 0xa0;
}

static char *put_hex(char *out, const char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        *out++ = '\\';
        *out++ = 'x';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

char *ft_text_escape(const char *bytes, size_t count, enum ft_text_form form)
{
    if (count > SIZE_MAX / 4 - 1) {
        count = SIZE_MAX / 4 - 1;
    }
    char *text = ft_cli_alloc(count * 4 + 1), *out = text;
    for (size_t i = 0; i < count;) {
        size_t length = ft_text_utf8_length(bytes + i, count - i);
        if (length == 0) {
            out = put_hex(out, bytes + i, 1);
            i++;
            continue;
        }
        if (form != FT_TEXT_JSON && is_control(bytes + i, length)) {
            out = put_hex(out, bytes + i, length);
        } else if (bytes[i] == '\\' && form != FT_TEXT_SHOW) {
            *out++ = '\\';
            *out++ = '\\';
        } else {
            for (size_t k = 0; k < length; k++) {
                *out++ = bytes[i + k];
            }
        }
        i += length;
    }
    *out = '\0';
    return text;
}

static bool find_locale_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value) {
            const char *charset = strchr(value, '.');
            return charset && (strncasecmp(charset, ".utf-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
        }
    }
    return false;
}

bool ft_text_locale_is_utf8(void)
{
    static int known; /* 1: not, 2: it is */
    known = known ? known : 1 + find_locale_is_utf8();
    return known == 2;
}

size_t ft_text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += !is_continuation((unsigned char)*text);
    }
    return width;
}

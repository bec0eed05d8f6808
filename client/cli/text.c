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

/* Of a valid sequence. */
static uint32_t code_point(const char *bytes, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)bytes[0] & first_bits[length];
    for (size_t i = 1; i < length; i++) {
        code = code << 6 | ((unsigned char)bytes[i] & 0x3fu);
    }
    return code;
}

/*
 * What a terminal obeys or does not show: with U+202E a name reads backwards, and so does what stands behind it. The joiners U+200C
 * and U+200D are letters' and emojis' own.
 */
static bool is_control(const char *bytes, size_t length)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200b},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
    };
    uint32_t code = code_point(bytes, length);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && code >= ranges[i].first; i++) {
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
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

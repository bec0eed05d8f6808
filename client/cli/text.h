// SPDX-License-Identifier: MIT
/*
 * Names are bytes. How they are shown and escaped, so that the exact bytes can be recovered.
 *
 * Escaped form: valid UTF-8 stays as it is; a byte that is not part of valid UTF-8 becomes \xHH (two lower-case hex
 * digits); a backslash becomes \\. For terminals and CSV, the bytes of control characters become \xHH, too: also of those that
 * change the direction of text, break lines or have no width.
 */
#ifndef FT_CLI_TEXT_H
#define FT_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum ft_text_form {
    FT_TEXT_JSON, /* \\ and \xHH; control characters are left for JSON's own escapes */
    FT_TEXT_CSV,  /* control characters too: one row stays one line */
    FT_TEXT_SHOW, /* like CSV, but a backslash stays single: for people, not reversible */
};

/* Length of the valid UTF-8 sequence at `bytes`, 1 to 4; 0 where there is none. Surrogates and overlong ones are not.
 */
size_t ft_text_utf8_length(const char *bytes, size_t count);
bool ft_text_is_utf8(const char *bytes, size_t count);

/* A new string; release with free(). */
char *ft_text_escape(const char *bytes, size_t count, enum ft_text_form form);

/* Whether text may have characters beyond ASCII, by LC_ALL, LC_CTYPE, LANG: what is ours to choose is ASCII else. */
bool ft_text_locale_is_utf8(void);

/* Columns that `text` (valid UTF-8) takes on a terminal; wide and combining characters count one each. */
size_t ft_text_width(const char *text);

#endif

// SPDX-License-Identifier: MIT
#include "client/cli/units.h"

#include <stdio.h>
#include <string.h>

#include "client/cli/text.h"

/* Three significant digits of a value below 1000 (or 1024), without an exponent. */
static void print_value(struct ft_unit_text *out, double value, const char *unit)
{
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out->text, sizeof(out->text), "%.*f %s", digits, value, unit);
}

static double scale_bytes(double value, const char **unit)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned index = 0;
    while (value >= 1023.5 && index + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        index++;
    }
    *unit = units[index];
    return value;
}

const char *ft_units_bytes(struct ft_unit_text *out, uint64_t bytes)
{
    if (bytes < 1024) {
        snprintf(out->text, sizeof(out->text), "%u B", (unsigned)bytes);
        return out->text;
    }
    const char *unit;
    double value = scale_bytes((double)bytes, &unit);
    print_value(out, value, unit);
    return out->text;
}

const char *ft_units_rate(struct ft_unit_text *out, uint64_t bytes, int64_t ns)
{
    if (ns <= 0) {
        snprintf(out->text, sizeof(out->text), "-");
        return out->text;
    }
    const char *unit;
    double value = scale_bytes((double)bytes * 1e9 / (double)ns, &unit);
    print_value(out, value, unit);
    strncat(out->text, "/s", sizeof(out->text) - strlen(out->text) - 1);
    return out->text;
}

static void print_long_time(struct ft_unit_text *out, int64_t seconds)
{
    if (seconds < 3600) {
        snprintf(out->text, sizeof(out->text), "%d min %02d s", (int)(seconds / 60), (int)(seconds % 60));
    } else {
        snprintf(out->text, sizeof(out->text), "%lld h %02d min", (long long)(seconds / 3600),
                 (int)(seconds / 60 % 60));
    }
}

const char *ft_units_time(struct ft_unit_text *out, int64_t ns)
{
    double value = (double)ns;
    if (ns <= 0) {
        snprintf(out->text, sizeof(out->text), "0 s");
    } else if (ns < 1000) {
        snprintf(out->text, sizeof(out->text), "%d ns", (int)ns);
    } else if (value < 999.5e3) {
        print_value(out, value / 1e3, ft_text_locale_is_utf8() ? "µs" : "us");
    } else if (value < 999.5e6) {
        print_value(out, value / 1e6, "ms");
    } else if (ns < INT64_C(120000000000)) {
        print_value(out, value / 1e9, "s");
    } else {
        print_long_time(out, ns / 1000000000);
    }
    return out->text;
}

const char *ft_units_count(struct ft_unit_text *out, uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    char *to = out->text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[i];
    }
    *to = '\0';
    return out->text;
}

const char *ft_units_counted(struct ft_unit_text *out, uint64_t count, const char *one, const char *several)
{
    size_t used = strlen(ft_units_count(out, count));
    snprintf(out->text + used, sizeof(out->text) - used, " %s", count == 1 ? one : several);
    return out->text;
}

const char *ft_units_share(struct ft_unit_text *out, double part, double whole)
{
    if (whole <= 0) {
        snprintf(out->text, sizeof(out->text), "-");
        return out->text;
    }
    double percent = 100 * part / whole;
    snprintf(out->text, sizeof(out->text), percent > 0 && percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
    return out->text;
}

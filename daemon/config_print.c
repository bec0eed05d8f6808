// SPDX-License-Identifier: MIT
//
// The table of keys, told: for --help, and as the file that is installed.
#include "daemon/config.h"

void ft_config_print_keys(FILE *out)
{
#define GROUP(title)
#define KEY(type, name, value, allowed, when, help) fprintf(out, "  %-24s  %s [%s]\n", #name, help, value);
#include "daemon/config.def"
}

void ft_config_print_file(FILE *out)
{
    static const char LIVE[] = "", START[] = " [restart]";
    fputs(
        "# SPDX-License-Identifier: MIT\n"
        "# Configuration of flowtapd: every key with its default. Drop-ins in flowtapd.conf.d/*.conf are read after this file, in order\n"
        "# of their names; `flowtapd --set key=value` wins over both. `flowtapd --check` says what is wrong, `flowtap status --config`\n"
        "# what is in force. `systemctl reload flowtapd` (SIGHUP) reads all again: what says [restart] waits for one.\n"
        "#\n"
        "# Sizes take K, M, G, T (powers of 1024); times ns, us, ms, s, m, h, d.\n"
        "\n[" FT_CONFIG_SECTION "]\n",
        out);
#define GROUP(title) fprintf(out, "\n# %s\n\n", title);
#define KEY(type, name, value, allowed, when, help) \
    fprintf(out, "# %s%s.\n#%s =%s%s\n", help, when, #name, value[0] ? " " : "", value);
#include "daemon/config.def"
}

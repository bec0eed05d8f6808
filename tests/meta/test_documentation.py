# SPDX-License-Identifier: MIT
"""Help, man pages and configuration speak of the same things with the same words."""

import re

import tree


def page(name):
    """A man page's text, roff's escaped hyphens turned into plain ones."""
    found = [p for p in tree.files() if p.name == name]
    assert found, f"there is no man page {name}"
    return re.sub(r"\\&|\\f[BIRP]", "", tree.text(found[0]).replace("\\-", "-"))


def commands():
    """The commands that `flowtap --help` lists: first words of its indented lines, up to two spaces further on."""
    listed = tree.run(tree.FLOWTAP, "--help")
    return sorted(set(re.findall(r"^  ([a-z]+)\s{2,}\S", listed, re.M)))


def options(text):
    return sorted(set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", text)))


def test_help_lists_the_commands():
    assert {"run", "summary", "events", "files", "processes", "info", "verify"} <= set(commands())


def test_a_command_has_a_source_file_and_a_page_that_tells_all_its_options():
    names, main, wrong = {p.name for p in tree.files()}, page("flowtap.1"), []
    for command in commands():
        if f"cmd_{command}.c" not in names:
            wrong.append(f"there is no cmd_{command}.c")
        if not re.search(rf"\b{command}\b", main):
            wrong.append(f"flowtap.1 does not name {command}")
        if f"flowtap-{command}.1" not in names:
            wrong.append(f"there is no flowtap-{command}.1")
            continue
        told = page(f"flowtap-{command}.1")
        wrong += [f"flowtap-{command}.1 does not tell {option}"
                  for option in options(tree.run(tree.FLOWTAP, command, "--help")) if option not in told]
    assert not wrong, "\n".join(wrong)


def config_keys():
    """(key, default, what it does, whether it waits for a restart), as the daemon's table has them."""
    found = re.findall(r"^# (.*?)( \[restart\])?\.\n#([a-z_]+) =(?: (.*))?$", tree.run(tree.FLOWTAPD, "--print-config"), re.M)
    assert found, "flowtapd --print-config prints no key"
    return [(key, default, what, bool(restart)) for what, restart, key, default in found]


def test_the_configuration_file_is_the_one_that_the_daemon_prints():
    assert tree.text("etc/flowtapd.conf") == tree.run(tree.FLOWTAPD, "--print-config")


def test_every_key_is_in_the_help_and_the_page_of_the_daemon_with_the_same_words():
    helped, paged = tree.run(tree.FLOWTAPD, "--help"), page("flowtapd.8")
    wrong = []
    for key, default, what, _ in config_keys():
        if not re.search(rf"^  {key} +{re.escape(what)} \[{re.escape(default)}\]$", helped, re.M):
            wrong.append(f"{key}: not in --help")
        told = f'.BR {key} " = {default}'.rstrip() + f'"\n{what[0].upper()}{what[1:]}'
        if told not in paged:
            wrong.append(f"{key}: flowtapd.8 lacks\n{told}")
    assert not wrong, "\n".join(wrong)


def test_the_page_adds_up_what_a_user_can_make_the_daemon_hold():
    """Defaults times the sizes that the source has, as the section MEMORY tells them."""
    units = {"K": 1 / 1024, "M": 1, "G": 1024}
    default = {key: float(value[:-1]) * units[value[-1]] if value[-1:] in units else float(value)
               for key, value, *_ in config_keys() if re.fullmatch(r"\d+[KMG]?", value or "")}
    process, = re.findall(r"FT_QUOTA_PROCESS_BYTES = (\d+) << 10", tree.text("daemon/quota.h"))
    job, = re.findall(r"FT_SHARE_MIN_BYTES = (\d+) << 10", tree.text("daemon/share.h"))
    parts = [default["max_user_memory"], default["max_processes_per_user"] * int(process) / 1024,
             max(default["max_user_jobs_memory"], default["max_jobs_per_user"] * int(job) / 1024)]
    section = re.search(r"^\.SH MEMORY\n(.*?)^\.SH", page("flowtapd.8"), re.M | re.S)[1]
    assert [int(told) for told in re.findall(r"^(\d+) MiB$", section, re.M)] == [*parts, sum(parts)]
    assert [int(told) for told in re.findall(r"times (\d+) KiB", section)] == [int(process), int(job), int(job)]
    of_all = (default["max_memory"] + default["max_processes"] * int(process) / 1024 +
              max(default["max_jobs_memory"], default["max_jobs"] * int(job) / 1024))
    assert f": {of_all:.0f} MiB. " in section


def test_the_page_says_what_waits_for_a_restart():
    section = re.search(r"^\.SH RELOAD\n(.*?)^\.SH", page("flowtapd.8"), re.M | re.S)[1]
    own = {key for key, *_ in config_keys()[-7:]}  # those of flowtap run
    assert {key for key, _, _, restart in config_keys() if restart} - own == set(re.findall(r"^\.BR ([a-z_]+) ,$", section, re.M))


def test_every_option_of_the_daemon_is_in_its_page():
    missing = [o for o in options(tree.run(tree.FLOWTAPD, "--help")) if o not in page("flowtapd.8")]
    assert not missing


def glued(line):
    """What an alternating-font macro's line prints in one piece of prose: its words are joined without the blanks between them."""
    kinds = "".join("w" if re.fullmatch(r"[A-Za-z]+[,.;:]?", word) else "-" for word in re.findall(r'"(?:[^"]|"")*"?|\S+', line))
    return "www" in kinds


def test_no_page_runs_words_together():
    assert glued(".IR ReadWritePaths= ), four at a time, and so on") and not glued('.BR a ", " b ", " c " or " d')
    wrong = [f"{path.name}:{number}: {line}" for path in tree.files() if path.suffix in (".1", ".3", ".8")
             for number, line in enumerate(tree.text(path).splitlines(), 1)
             if re.match(r"\.(IR|BR|BI|IB|RI|RB) ", line) and glued(line)]
    assert not wrong, "\n".join(wrong)


def test_a_page_is_well_formed():
    pages = [p for p in tree.files() if p.suffix in (".1", ".3", ".8")]
    assert pages
    for path in pages:
        lines = tree.text(path).splitlines()
        assert any(line.startswith((".TH ", ".Dt ")) for line in lines), path
        sections = {line.split(" ", 1)[1].strip('"') for line in lines if line.startswith((".SH ", ".Sh "))}
        assert {"NAME", "SYNOPSIS", "DESCRIPTION"} <= sections, path

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
    found = re.findall(r"^#?\s?([a-z_]+)\s*=", tree.text("etc/flowtapd.conf"), re.M)
    assert found, "etc/flowtapd.conf has no key"
    return sorted(set(found))


def test_every_key_is_in_the_help_and_the_page_of_the_daemon():
    helped, paged = tree.run(tree.FLOWTAPD, "--help"), page("flowtapd.8")
    wrong = [f"{key}: not in {where}" for key in config_keys()
             for where, text in (("flowtapd --help", helped), ("flowtapd.8", paged)) if not re.search(rf"\b{key}\b", text)]
    assert not wrong, "\n".join(wrong)


def test_every_option_of_the_daemon_is_in_its_page():
    missing = [o for o in options(tree.run(tree.FLOWTAPD, "--help")) if o not in page("flowtapd.8")]
    assert not missing


def test_a_page_is_well_formed():
    pages = [p for p in tree.files() if p.suffix in (".1", ".8")]
    assert pages
    for path in pages:
        lines = tree.text(path).splitlines()
        assert any(line.startswith((".TH ", ".Dt ")) for line in lines), path
        sections = {line.split(" ", 1)[1].strip('"') for line in lines if line.startswith((".SH ", ".Sh "))}
        assert {"NAME", "SYNOPSIS", "DESCRIPTION"} <= sections, path

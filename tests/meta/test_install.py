# SPDX-License-Identifier: MIT
"""`make install` gives a working product anywhere; `make uninstall` takes all of it away."""

import os

import pytest
import tree

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "FLOWTAP")) and k != "LD_PRELOAD"}

INSTALLED = ["bin/flowtap", "bin/flowtapd", "lib/libflowtap-preload.so", "lib/libflowtap.so", "lib/pkgconfig/flowtap.pc",
             "include/flowtap.h", "share/man/man1/flowtap.1", "share/man/man8/flowtapd.8"]


def make(*words):
    # The same folder as `make` was told, written the same way: other flags would build everything anew.
    return tree.run("make", "-s", f"O={os.path.relpath(tree.BUILD, tree.REPO)}", *words, env=ENVIRONMENT)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    where = tmp_path_factory.mktemp("prefix")
    make("install", f"PREFIX={where}")
    return where


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir())


@pytest.mark.parametrize("name", [*INSTALLED, "etc/flowtap/flowtapd.conf"])
def test_a_file_is_installed(prefix, name):
    assert (prefix / name).is_file()


def test_every_page_is_installed(prefix):
    pages = {p.name for p in tree.files() if p.suffix in (".1", ".8")}
    assert pages == {p.name for p in (prefix / "share/man").rglob("*") if p.is_file()}


def test_the_installed_command_finds_its_parts(prefix, tmp_path):
    tree.run(prefix / "bin/flowtap", "run", "-o", tmp_path / "out", "--", "/bin/true", env=ENVIRONMENT)
    assert list((tmp_path / "out").rglob("*.flow"))


def test_a_program_builds_and_runs_with_pkg_config(prefix, tmp_path):
    env = {**ENVIRONMENT, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = tree.run("pkg-config", "--cflags", "--libs", "flowtap", env=env).split()
    source = tmp_path / "app.c"
    source.write_text("#include <flowtap.h>\n#include <stdio.h>\nint main(void)\n{\n"
                      '    printf("%s %d\\n", flowtap_version(), flowtap_active());\n    return 0;\n}\n')
    tree.run("gcc", "-o", tmp_path / "app", source, *flags)
    said = tree.run(tmp_path / "app", env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(prefix / "lib")})
    version = tree.run("pkg-config", "--modversion", "flowtap", env=env).strip()
    assert said == f"{version} 0\n"


def test_destdir_holds_everything_and_uninstall_leaves_nothing(tmp_path):
    words = [f"DESTDIR={tmp_path}", "PREFIX=/usr"]
    make("install", *words)
    found = files_below(tmp_path)
    assert {f"usr/{name}" for name in INSTALLED} <= set(found)
    assert "etc/flowtap/flowtapd.conf" in found
    make("uninstall", *words)
    assert files_below(tmp_path) == []


def test_an_edited_configuration_survives(tmp_path):
    words = [f"DESTDIR={tmp_path}", "PREFIX=/usr"]
    conf = tmp_path / "etc/flowtap/flowtapd.conf"
    make("install", *words)
    conf.write_text("[flowtapd]\nmode = off\n")
    make("install", *words)
    assert conf.read_text() == "[flowtapd]\nmode = off\n"
    assert (conf.parent / "flowtapd.conf.new").is_file()
    make("uninstall", *words)
    assert files_below(tmp_path) == ["etc/flowtap/flowtapd.conf"]

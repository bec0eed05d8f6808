# SPDX-License-Identifier: MIT
"""`make install` gives a working product anywhere; `make uninstall` takes all of it away."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
import tree

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "FLOWTAP")) and k != "LD_PRELOAD"}

INSTALLED = ["bin/flowtap", "bin/flowtapd", "lib/libflowtap-preload.so", "lib/libflowtap.so", "lib/pkgconfig/flowtap.pc",
             "lib/libflowtap-functions.so", "share/man/man3/flowtap.3",
             "lib/libflowtap-trace.so", "lib/libflowtap-trace.so.0", "lib/libflowtap-trace.a", "lib/pkgconfig/flowtap-trace.pc",
             "include/flowtap.h", "include/flowtap-trace.h", "share/man/man1/flowtap.1", "share/man/man3/flowtap-trace.3",
             "share/man/man8/flowtapd.8", "lib/systemd/system/flowtapd.socket", "lib/systemd/system/flowtapd.service", "lib/sysusers.d/flowtap.conf", "lib/tmpfiles.d/flowtap.conf"]


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
    pages = {p.name for p in tree.files() if p.suffix in (".1", ".3", ".8")}
    assert pages == {p.name for p in (prefix / "share/man").rglob("*") if p.is_file()}


def test_the_installed_command_finds_its_parts(prefix, tmp_path):
    tree.run(prefix / "bin/flowtap", "run", "-o", tmp_path / "out", "--", "/bin/true", env=ENVIRONMENT)
    assert list((tmp_path / "out").rglob("*.flow"))


def test_the_units_name_the_installed_daemon(prefix):
    for unit in ("flowtapd.socket", "flowtapd.service"):
        text = (prefix / "lib/systemd/system" / unit).read_text()
        assert f"{prefix}/bin/flowtapd --write-policy\n" in text and not re.search("@[A-Z]+@", text), unit


def test_images_have_the_library_and_the_socket_where_they_are(prefix):
    bound = re.findall(r"^bind path = (\S+)$", (prefix / "etc/flowtap/apptainer-flowtap.conf").read_text(), re.M)
    assert bound[0] == str(prefix / "lib/libflowtap-preload.so") and (prefix / "lib/libflowtap-preload.so").is_file()
    assert bound[1:] == [os.path.dirname(path) for path in re.findall(r"^#socket = (.*)$", tree.text("etc/flowtapd.conf"), re.M)]


def settings(text, key):
    return [line.split("=", 1)[1] for line in text.splitlines() if line.startswith(key + "=")]


def test_the_unit_holds_as_many_segments_as_the_configuration_stores(prefix):
    """More would be dropped by the manager; and it must not be more than the descriptors that the daemon may have."""
    unit = (prefix / "lib/systemd/system/flowtapd.service").read_text()
    stored = int(re.search(r"^#max_stored = (\d+)$", tree.text("etc/flowtapd.conf"), re.M)[1])
    assert stored < int(settings(unit, "FileDescriptorStoreMax")[0]) < int(settings(unit, "LimitNOFILE")[0])


def test_the_socket_is_where_the_configuration_says(prefix):
    unit = (prefix / "lib/systemd/system/flowtapd.socket").read_text()
    conf = tree.text("etc/flowtapd.conf")
    assert settings(unit, "ListenSequentialPacket") == re.findall(r"^#socket = (.*)$", conf, re.M)
    assert settings(unit, "Backlog") == re.findall(r"^#backlog = (.*)$", conf, re.M)
    unit = (prefix / "lib/systemd/system/flowtapd.service").read_text()
    assert settings(unit, "ReadWritePaths") == re.findall(r"^#spool_dir = (.*)$", conf, re.M)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_units_are_well_formed_and_hardened(prefix):
    units = [prefix / "lib/systemd/system" / name for name in ("flowtapd.socket", "flowtapd.service")]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, env=ENVIRONMENT)
    assert not [line for line in done.stderr.splitlines() if "flowtapd" in line], done.stderr
    tree.run("systemd-analyze", "security", "--offline=true", "--threshold=15", units[1], env=ENVIRONMENT)


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


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
@pytest.mark.parametrize("kind", ["shared", "static"])
def test_a_program_that_reads_traces_builds_and_runs_with_pkg_config(prefix, tmp_path, compiler, kind):
    env = {**ENVIRONMENT, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    flags = tree.run("pkg-config", "--cflags", "--libs", *(["--static"] if kind == "static" else []), "flowtap-trace", env=env).split()
    if kind == "static":
        flags = ["-l:libflowtap-trace.a" if flag == "-lflowtap-trace" else flag for flag in flags]
    source = tmp_path / ("app.c" if compiler == "gcc" else "app.cc")
    source.write_text("#include <flowtap-trace.h>\n#include <stdio.h>\nint main(int argc, char **argv)\n{\n"
                      "    struct flowtap_trace *trace;\n    struct flowtap_trace_error error;\n"
                      "    int status = flowtap_trace_open((const char *const *)argv + 1, (size_t)argc - 1, NULL, 0, &trace, &error);\n"
                      '    printf("%s %d\\n", flowtap_trace_version(), status);\n    return 0;\n}\n')
    sanitizer = {"asan": ["-fsanitize=address,undefined"], "tsan": ["-fsanitize=thread"]}.get(tree.BUILD.name, [])
    tree.run(compiler, "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "app", source, *flags, *sanitizer)
    said = tree.run(tmp_path / "app", tmp_path / "absent.flow", env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(prefix / "lib")})
    version = tree.run("pkg-config", "--modversion", "flowtap-trace", env=env).strip()
    assert said == f"{version} -2\n"


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


@pytest.mark.parametrize(("slurm", "built"), [(False, False), (True, True)])
def test_slurms_plugin_is_built_where_its_header_is(tmp_path, slurm, built):
    flags = "-nostdinc"
    if slurm:
        (tmp_path / "slurm").mkdir()
        (tmp_path / "slurm/spank.h").touch()
        flags += f" -I{tmp_path}"
    assert ("spank_flowtap.so" in make("--always-make", "--dry-run", "all", f"SLURM_CFLAGS={flags}")) == built


@pytest.mark.parametrize("linker", ["bfd", "gold"])
def test_the_shim_is_linked_by_linkers_that_know_no_order_of_code(tmp_path, linker):
    """By GNU ld in the order of client/shim/order.ld; by another all the same, and it finds libc alone."""
    if shutil.which(f"ld.{linker}") is None:
        pytest.skip(f"ld.{linker} is not installed")
    said = make("--always-make", "--dry-run", os.path.relpath(tree.PRELOAD, tree.REPO), f"LDFLAGS=-fuse-ld={linker}")
    link = next(line for line in said.splitlines() if "-soname,libflowtap-preload.so" in line)
    assert ("order.ld" in link) == (linker == "bfd"), link
    words = [tmp_path / "preload.so" if word == os.path.relpath(tree.PRELOAD, tree.REPO) else word for word in shlex.split(link)]
    tree.run(*words)
    assert "libc.so.6" in tree.run("readelf", "-dW", tmp_path / "preload.so")
    assert tree.run("env", f"LD_PRELOAD={tmp_path / 'preload.so'}", "echo", "lives") == "lives\n"


@pytest.mark.parametrize(("goal", "strict"), [("all", True), ("quickstart", False), ("install", False)])
def test_a_compilers_warning_stops_only_who_develops(goal, strict):
    """A newer compiler warns of more; the flags of a part that is built are the whole build's."""
    said = make("--always-make", "--dry-run", goal, f"DESTDIR={tree.BUILD}/nowhere")
    compiled = [line for line in said.splitlines() if " -c -o " in line]
    assert len(compiled) > 100
    assert {"-Werror" in line.split() for line in compiled} == {strict}

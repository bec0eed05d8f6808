# SPDX-License-Identifier: MIT
"""What libflowtap-preload.so is allowed to be, since it is loaded into programs that did not ask for it."""

import re

import pytest
import tree

# At most so many, however many calls there are: each is work for every process that starts.
RELOCATIONS_MAX = 64
STATIC_TLS_BYTES = 128

# Exported besides the interposed calls: what libflowtap.so looks for (proto/annotate.h), and what AddressSanitizer's runtime asks for options.
OWN_EXPORTS = {"flowtap_shim_version", "flowtap_annotate_1", "__asan_default_options"}


def dynamic():
    return tree.run("readelf", "-dW", tree.PRELOAD)


def segments():
    return tree.run("readelf", "-lW", tree.PRELOAD)


def test_it_needs_libc_alone():
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic()) == ["libc.so.6"]


def test_it_is_not_initialised_before_the_others_and_has_no_search_path():
    tags = dynamic()
    assert "INITFIRST" not in tags
    assert not re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", tags)


def test_its_stack_is_not_executable():
    stack = next(line for line in segments().splitlines() if "GNU_STACK" in line)
    assert re.search(r"\bRW\s+0x", stack), stack


def test_its_static_tls_is_small():
    tls = [line.split() for line in segments().splitlines() if line.split()[:1] == ["TLS"]]
    size = sum(int(fields[5], 16) for fields in tls)
    assert size <= STATIC_TLS_BYTES, f"{size} bytes"


def test_it_leaves_the_upper_halves_of_vector_registers_alone():
    """They may hold arguments and results of calls that it stands before, of which it keeps the lower halves; nor x87's."""
    code = tree.run("objdump", "-d", "--no-show-raw-insn", tree.PRELOAD)
    if "elf64-x86-64" not in code:
        pytest.skip("not x86-64")
    used = re.findall(r"^ *[0-9a-f]+:\t(v[a-z0-9]+ .*|f(?:ld|st|add|mul|xch|init|nsave|xrstor).*|.*%(?:[yz]mm|mm|st|k)[0-7].*)$", code, re.M)
    assert "movups" in code and not used, used[:5]


def test_it_asks_for_no_private_and_no_new_glibc():
    wanted = set(re.findall(r"\bGLIBC_(\w[\w.]*)", tree.run("objdump", "-T", tree.PRELOAD)))
    assert "PRIVATE" not in wanted
    newest = max(tuple(map(int, version.split("."))) for version in wanted)
    stated = re.search(r"asks for symbols up to GLIBC_([\d.]+)\n", tree.text("README.md"))
    assert stated and newest == tuple(map(int, stated[1].split("."))), f"GLIBC_{'.'.join(map(str, newest))}"


def relocations():
    listed = tree.run("readelf", "-rW", tree.PRELOAD)
    return [line.split() for line in listed.splitlines() if re.match(r"[0-9a-f]{16} ", line)]


def test_what_a_start_costs_does_not_grow_with_the_calls():
    assert len(relocations()) < RELOCATIONS_MAX < len(tree.call_table()) / 4


def test_a_start_maps_little_and_writes_one_page_of_variables():
    """Each mapping, and each page that is written, is work for every process that starts."""
    assert len([line for line in segments().splitlines() if re.match(r" +LOAD ", line)]) == 2
    sections = tree.run("readelf", "-SW", tree.PRELOAD)
    assert not re.search(r" \.(data|init|fini) ", sections)
    bss, size = (int(x, 16) for x in re.search(r" \.bss +NOBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", sections).groups())
    symbols = {fields[-1]: int(fields[0], 16) for fields in map(str.split, tree.run("nm", tree.PRELOAD).splitlines())
               if len(fields) == 3 and fields[1] in "bB"}
    late = {"ft_real_table", "sink", "sink_line", "rings", "far_pages", "description_pages", "ft_wiped_page", "ft_thread",
            "intern_pages", "intern_recent", "intern_heap", "async_pages",
            "tags_of_lines", "tags_of_process", "group_texts", "forks_of_lines", "kept_items",
            "relay_ranges", "relay_ranges_taken"}
    assert bss % 4096 == 0 and symbols["ft_wiped_page"] == bss + size - 4096
    assert not [name for name, at in symbols.items() if at >= bss + 4096 and name not in late
                and not name.startswith(("levels_", "ft_levels_"))]


def test_a_start_reads_one_stretch_of_the_library():
    """The kernel maps this much at a time: symbols, what attaches, all constants and what ends (client/shim/order.ld)."""
    stretch = 64 * 1024
    if "X86-64" not in tree.run("readelf", "-hW", tree.PRELOAD):
        pytest.skip("not x86-64")
    sections = tree.run("readelf", "-SW", tree.PRELOAD)
    at = {name: (int(address, 16), int(size, 16)) for name, address, size in
          re.findall(r" (\.\S+) +\w+ +([0-9a-f]{16}) [0-9a-f]+ ([0-9a-f]+)", sections)}
    assert sum(at[".rodata"]) <= stretch
    symbols = {fields[-1]: int(fields[0], 16) for fields in map(str.split, tree.run("nm", tree.PRELOAD).splitlines())
               if len(fields) == 3 and fields[1] in "tT"}
    for function in ("start", "ft_enter_slow", "ft_settings_read", "ft_real_is_second_copy", "ft_segment_make",
                     "ft_hello_fill", "ft_clock_pair", "ft_hand_over", "ft_thread_start", "ft_attach_child", "ft_levels_start",
                     "ft_levels_rules_are_given", "ft_calls_ending", "visit_streams", "ft_stdio_finish"):
        assert symbols[function] < stretch, function


def test_it_finds_its_own_data_before_it_is_relocated():
    """An IFUNC resolver of another library may call it then: nothing of its own may lie behind the offset table."""
    sections = tree.run("readelf", "-SW", tree.PRELOAD)
    address, size = re.search(r" \.got +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", sections).groups()
    start, end = int(address, 16), int(address, 16) + int(size, 16)
    in_table = [r for r in relocations() if start <= int(r[0], 16) < end]
    assert in_table and not [r for r in in_table if r[2].endswith("_RELATIVE")]


def test_it_is_read_only_after_relocation_and_binds_at_once():
    assert re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic()) and "GNU_RELRO" in segments()
    assert not [line for line in segments().splitlines() if re.match(r" +LOAD .* RWE", line)]


def defined(library):
    listed = tree.run("nm", "-D", "--defined-only", library)
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def test_it_exports_the_call_table_and_nothing_else():
    exported, table = defined(tree.PRELOAD), {name for _, name, _ in tree.call_table()}
    # A call that this machine's libc does not know (pidfd_spawn before 2.39) is not interposed here.
    absent = table - defined(tree.run("gcc", "-print-file-name=libc.so.6").strip())
    assert exported - table - OWN_EXPORTS == set(), "exported, but not in proto/calls.def"
    assert table - exported - absent == set(), "in proto/calls.def, but not exported"


def test_the_readme_names_the_librarys_system_calls():
    """What a filter that kills has to allow, so that a program that inherits it lives."""
    used = {name for path in (tree.REPO / "client/shim").glob("*.[ch]") for name in re.findall(r"\bft_sys\(SYS_(\w+)", path.read_text())}
    text = re.search(r"The library's own calls are ([\w\s,]+?)\. It calls (\w+) .*too, only where no filter is inherited\.\n", tree.text("README.md"))
    assert text[1].replace(",", " ").replace(" and ", " ").split() == sorted(used - {text[2]}) and text[2] in used

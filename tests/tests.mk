# SPDX-License-Identifier: MIT
# How the tests are built and run; part of the Makefile.

# | make test-programs   what the tests build: unit tests, traced programs
# | make unit            unit tests of this variant             make integration   pytest, ARGS="-k NAME" chooses
# | make meta            what the tree promises about itself    make lint          shellcheck, format
# | make fuzz-short      each fuzz target for a few seconds     make fuzz          each for FUZZ_SECONDS (3600)
# | make bench           the figures                            make soak          the long integration tests
# | make bench ARGS="--only commands"   every command that reads traces, on 10^8 events in 4 GiB of addresses
# | make peers           installs what bench compares with that pip has
# | make repeat N=20 ARGS="-k fork"   chosen integration tests N times, to the first failure
# | make generate        bin/flowtap-generate, which makes traces of any size
# | make format          rewrite with clang-format              make format-check  only look

VENV := build/venv
PYTEST = $(VENV)/bin/python -m pytest
FUZZ_SECONDS ?= 3600
FUZZ_SHORT_SECONDS ?= 10
ARGS ?=

# ----------------------------------------------------------------------------------------------------------- unit tests
# tests/unit/AREA/**/test_*.c is one binary each; other .c files of the area's folder are linked into all of the area.

UNIT_ALL := $(wildcard tests/unit/*/*.c tests/unit/*/*/*.c)
UNIT_SRC := $(foreach file,$(UNIT_ALL),$(if $(filter test_%,$(notdir $(file))),$(file)))
UNIT_HELPER_SRC := $(filter-out $(UNIT_SRC),$(UNIT_ALL))
UNIT_BIN := $(UNIT_SRC:%.c=$(O)/%)
CMOCKA_LIBS = $(shell $(PKG_CONFIG) --libs cmocka)

unit_bin = $(filter $(O)/tests/unit/$(1)/%,$(UNIT_BIN))
unit_helpers = $(call object,obj,$(filter tests/unit/$(1)/%,$(UNIT_HELPER_SRC)))

$(UNIT_BIN): $(O)/%: $(O)/obj/%.o $(PROTO_LIB)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_LDFLAGS) -o $@ $(filter %.o,$^) $(UNIT_LINK) $(PROTO_LIB) $(CMOCKA_LIBS) $(DAEMON_LIBS)

$(call unit_bin,proto): $(call unit_helpers,proto)
$(call unit_bin,daemon): $(call unit_helpers,daemon) $(DAEMON_UNIT_LIB)
$(call unit_bin,daemon): UNIT_LINK = $(DAEMON_UNIT_LIB)
$(call unit_bin,cli): $(call unit_helpers,cli) $(CLI_UNIT_LIB) $(TRACE_PARTS)
$(call unit_bin,cli): UNIT_LINK = $(CLI_UNIT_LIB) $(TRACE_PARTS)
# The command's made-up traces.
$(call unit_bin,trace): $(call unit_helpers,trace) $(O)/obj/tests/unit/cli/traces.o $(TRACE_PARTS)
$(call unit_bin,trace): UNIT_LINK = $(TRACE_PARTS)
$(call unit_bin,shim): $(call unit_helpers,shim) $(SHIM_UNIT_OBJ)

.PHONY: unit
unit: $(UNIT_BIN)
	@tests/run-unit $(UNIT_BIN)

# ------------------------------------------------------------------------------------------------------ traced programs
# tests/programs/NAME.c or NAME.cc is one program each. Lines among its first twenty may say
#   // CFLAGS: …     // LDFLAGS: …     // OPTIONAL: what it needs (a machine without it skips the program)
# NAME.so.c with "LDFLAGS: -shared" makes a library.

PROGRAM_SRC := $(wildcard tests/programs/*.c)
PROGRAM_CC_SRC := $(wildcard tests/programs/*.cc)
PROGRAM_BIN := $(PROGRAM_SRC:%.c=$(O)/%) $(PROGRAM_CC_SRC:%.cc=$(O)/%)
PROGRAM_CFLAGS := -D_GNU_SOURCE= -std=gnu17 -O2 -g -Wall -Wextra $(WERROR) -pthread -I. -Itests/programs -Iclient/annotate
PROGRAM_CXXFLAGS := -std=gnu++17 -O2 -g -Wall -Wextra $(WERROR) -pthread -I. -Itests/programs -Iclient/annotate

# Those that link -lflowtap or -lflowtap-trace find this build's; the latter is sanitized where the build is.
flowtap_library = $$(grep -qs '^// LDFLAGS:.*-lflowtap' $< && echo -L$(O)/lib -Wl,-rpath,$(abspath $(O))/lib) \
                  $$(grep -qs '^// LDFLAGS:.*-lflowtap-trace' $< && echo $(SANITIZE))
said = $$(sed -n '1,20s|^// $(1): *||p' $<)
optional = || { why="$(call said,OPTIONAL)"; [ -n "$$why" ] && echo "  SKIP     $(notdir $@): needs $$why" && rm -f $@; }

$(PROGRAM_SRC:%.c=$(O)/%): $(O)/%: %.c tests/tests.mk | $(O)/lib/libflowtap.so $(O)/lib/libflowtap-functions.so $(TRACE_LIBS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -MMD -MP -MF $@.d $(call said,CFLAGS) -o $@ $< $(flowtap_library) $(call said,LDFLAGS) -ldl -lrt $(optional)

$(PROGRAM_CC_SRC:%.cc=$(O)/%): $(O)/%: %.cc tests/tests.mk | $(O)/lib/libflowtap.so $(O)/lib/libflowtap-functions.so $(TRACE_LIBS)
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(PROGRAM_CXXFLAGS) -MMD -MP -MF $@.d $(call said,CFLAGS) -o $@ $< $(flowtap_library) $(call said,LDFLAGS) -ldl -lrt $(optional)

.PHONY: test-programs
test-programs: $(PROGRAM_BIN)

.PHONY: integration soak repeat
integration: all test-programs
	FLOWTAP_BUILD=$(abspath $(O)) $(PYTEST) tests/integration -m 'not soak' $(ARGS)
soak: all test-programs
	FLOWTAP_BUILD=$(abspath $(O)) $(PYTEST) tests/integration -m soak $(ARGS)

N ?= 20
repeat: all test-programs
	@for i in $$(seq $(N)); do echo "== $$i of $(N)"; \
		FLOWTAP_BUILD=$(abspath $(O)) $(PYTEST) tests/integration -q -x -p no:cacheprovider $(ARGS) || exit 1; done

# ---------------------------------------------------------------------------------------------------------------- bench

# tests/generate makes traces of any size: a program, and what the other figures take theirs from.

GENERATE_OBJ := $(call object,obj,$(wildcard tests/generate/*.c))
GENERATE_LIB := $(O)/obj/generate.a
GENERATE := $(O)/bin/flowtap-generate
BENCH_SRC := $(wildcard tests/bench/*.c)
BENCH_BIN := $(BENCH_SRC:%.c=$(O)/%)

$(GENERATE_LIB): $(filter-out %/main.o,$(GENERATE_OBJ))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(GENERATE): $(filter %/main.o,$(GENERATE_OBJ)) $(GENERATE_LIB) $(PROTO_LIB)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_LDFLAGS) -o $@ $^ $(PROTO_LIBS)

.PHONY: generate
generate: $(GENERATE)

$(BENCH_BIN): $(O)/%: %.c tests/tests.mk $(GENERATE_LIB) $(PROTO_LIB) | $(O)/lib/libflowtap.so
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -I$(O)/gen -MMD -MP -MF $@.d $(call said,CFLAGS) -o $@ $< $(flowtap_library) $(call said,LDFLAGS) \
		-Wl,--as-needed $(GENERATE_LIB) $(PROTO_LIB) $(PROTO_LIBS) -ldl

.PHONY: peers
peers:
	for one in peers analyzer; do \
		$(PYTHON) -m venv build/venv-$$one && \
		build/venv-$$one/bin/python -m pip -q --disable-pip-version-check install -r tests/requirements-$$one.txt || exit; done

.PHONY: bench
bench: all $(BENCH_BIN) $(GENERATE)
	tests/bench/run --build $(O) $(ARGS)

# ----------------------------------------------------------------------------------------------------------------- fuzz
# tests/fuzz/fuzz_NAME.c with its corpus in tests/fuzz/corpus/NAME/.

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(O)/%)
FUZZ_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_CFLAGS = $(BASE_CFLAGS) -I$(O)/gen -pthread -O1 -g $(FUZZ_SANITIZE) $(PKG_CFLAGS)
fuzz_object = $(addprefix $(O)/fuzz/,$(addsuffix .o,$(basename $(1))))
FUZZ_OBJ := $(call fuzz_object,$(PROTO_SRC) $(filter-out %/main.c,$(DAEMON_SRC)))
FUZZ_READ_OBJ := $(call fuzz_object,$(TRACE_SRC) $(filter-out %/main.c,$(CLI_SRC)))
FUZZ_GEN_OBJ := $(PROTO_DEF:%.proto=$(O)/fuzz/gen/%.pb-c.o)
FUZZ_LIB := $(O)/fuzz/flowtap.a
FUZZ_READ_LIB := $(O)/fuzz/read.a

$(FUZZ_OBJ) $(FUZZ_READ_OBJ): $(O)/fuzz/%.o: %.c $(FLAGS_FILE) | $(PROTO_GEN_H)
	$(call say,FUZZ)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link $(DEPEND) -c -o $@ $<

$(FUZZ_GEN_OBJ): $(O)/fuzz/gen/%.o: $(O)/gen/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -w -fsanitize=fuzzer-no-link $(DEPEND) -c -o $@ $<

$(FUZZ_LIB): $(FUZZ_OBJ) $(FUZZ_GEN_OBJ)
$(FUZZ_READ_LIB): $(FUZZ_READ_OBJ)
$(FUZZ_LIB) $(FUZZ_READ_LIB):
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(FUZZ_BIN): $(O)/%: %.c $(FUZZ_READ_LIB) $(FUZZ_LIB)
	$(call say,FUZZ)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -Wno-missing-prototypes -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ $< $(FUZZ_READ_LIB) $(FUZZ_LIB) \
		$(DAEMON_LIBS)

.PHONY: fuzz-programs fuzz-short fuzz
fuzz-programs: $(FUZZ_BIN)
fuzz-short: $(FUZZ_BIN)
	@tests/run-fuzz $(FUZZ_SHORT_SECONDS) $(FUZZ_BIN)
fuzz: $(FUZZ_BIN)
	@tests/run-fuzz $(FUZZ_SECONDS) $(FUZZ_BIN)

# -------------------------------------------------------------------------------------------------------- checks of text

C_FILES := $(shell git ls-files -co --exclude-standard '*.c' '*.h' '*.cc' 2>/dev/null)
CLANG_FORMAT := $(VENV)/bin/clang-format

.PHONY: format format-check shellcheck lint meta
format:
	$(CLANG_FORMAT) -i $(C_FILES)
format-check:
	@$(CLANG_FORMAT) --version >/dev/null
	@bad=$$($(CLANG_FORMAT) --dry-run --Werror $(C_FILES) 2>&1 | sed -n 's/:[0-9]*:[0-9]*: error: .*//p' | sort -u); \
		[ -z "$$bad" ] || { printf 'make format would change %s\n' $$bad; exit 1; }
shellcheck:
	shellcheck $$(git ls-files -co --exclude-standard | xargs grep -lE '^#!/(usr/bin/env |bin/)(ba)?sh' --)
lint: format-check shellcheck
meta: all test-programs
	FLOWTAP_BUILD=$(abspath $(O)) $(PYTEST) tests/meta $(ARGS)

# -------------------------------------------------------------------------------------------------- the two first commands

.PHONY: check quickstart
check:
	tests/setup check
	tests/run-all

quickstart:
	tests/setup build
	$(MAKE) --no-print-directory -j$(shell nproc) WERROR='$(WERROR)' all
	@rm -rf build/quickstart
	$(O)/bin/flowtap run -o build/quickstart -- $(PYTHON) tests/programs/pack_tree.py

# SPDX-License-Identifier: MIT
#
# make                 build everything into build/          make O=DIR   … into DIR
# make CC=clang        with another compiler                 make VARIANT=asan|tsan|ubsan|points   … into build/asan, …
# make quickstart      install what building needs, build, trace a real job
# make check           install what testing needs, run all tests
# make help            the other targets

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
SHELL := /bin/bash

VERSION := 0.1.0
ABI_VERSION := 0

VARIANT ?=
O ?= build$(addprefix /,$(VARIANT))

ifneq ($(filter default undefined,$(origin CC)),)
CC := gcc
endif
ifneq ($(filter default undefined,$(origin CXX)),)
CXX := g++
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR := ar
endif
FUZZ_CC ?= clang
PROTOC_C ?= protoc-c
PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy
# The system's own where there is one: what stands before it in PATH may be a script that starts other programs.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
# What systemd finds by itself below /usr and /usr/local.
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
# A system prefix keeps its configuration where the daemon looks by itself; any other prefix keeps it inside.
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)

# ---------------------------------------------------------------------------------------------------------------- flags

CFLAGS ?= $(if $(VARIANT),-O1,-O2) -g
# Who builds in order to use it is not stopped by what a newer compiler warns of.
WERROR ?= $(if $(filter quickstart install,$(MAKECMDGOALS)),,-Werror)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Wvla -Wformat=2 $(or $(WERROR),-Wno-error)
FORTIFY := $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

ifeq ($(VARIANT),)
SANITIZE :=
HARDEN := -fstack-protector-strong $(FORTIFY)
else ifeq ($(VARIANT),asan)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HARDEN :=
else ifeq ($(VARIANT),tsan)
SANITIZE := -fsanitize=thread -fno-omit-frame-pointer
HARDEN :=
else ifeq ($(VARIANT),points)
# A shim and a daemon that a test can stop or end at certain places (client/shim/test_point.h, daemon/test_point.h).
SANITIZE :=
POINTS := -DFT_TEST_POINTS
HARDEN :=
else ifeq ($(VARIANT),ubsan)
# Traps instead of a runtime's reports, so that the shim can be built so too and be preloaded into any program.
SANITIZE := -fsanitize=undefined -fsanitize-undefined-trap-on-error
SHIM_SANITIZE := $(SANITIZE)
HARDEN :=
else
$(error VARIANT is asan, tsan, ubsan or points, not $(VARIANT))
endif

# _GNU_SOURCE is defined empty, so that a file that defines it for itself does not redefine it.
BASE_CFLAGS = -std=gnu17 -D_GNU_SOURCE= -DFT_VERSION='"$(VERSION)"' -I. $(WARNINGS) $(CFLAGS) $(CPPFLAGS)
HOST_CFLAGS = $(BASE_CFLAGS) $(HARDEN) $(strip $(SANITIZE) $(POINTS)) -I$(O)/gen -fPIC -pthread $(PKG_CFLAGS)
# What every row of a trace passes through: its loops are worth vector instructions.
HOT_SRC := proto/column_decode.c proto/column_encode.c proto/inflate_quick.c \
           proto/trace_decode_columns.c proto/trace_decode_shape.c proto/trace_decode_short.c \
           client/cli/analysis_packed.c client/cli/analysis_packed_unions.c \
           client/cli/analysis_scan_find.c client/cli/analysis_scan_rows.c
$(HOT_SRC:%.c=$(O)/obj/%.o): HOST_CFLAGS += $(if $(filter -O2,$(CFLAGS)),-O3)
$(addprefix $(O)/obj/daemon/,drain.o record.o): HOST_CFLAGS += $(SHIM_ARCH_CFLAGS)
HOST_LDFLAGS = $(SANITIZE) -pthread -Wl,--as-needed -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

# The shim is built without what may call back into it (fortify, stack protector, builtins that become calls), without
# large-file renaming (open would become open64), and without a sanitizer's runtime: it runs in programs that have none.
SHIM_ONLY_CFLAGS := -U_FORTIFY_SOURCE -U_FILE_OFFSET_BITS -fvisibility=hidden -fno-stack-protector -fno-builtin \
                    -fasynchronous-unwind-tables -fexceptions -fno-tree-vectorize -fno-tree-slp-vectorize
# "rep stos" takes longer to start than the small structs of a slow path, or of each record, take to clear.
SHIM_ARCH_CFLAGS = $(if $(findstring clang,$(CC)),,$(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-mmemset-strategy=unrolled_loop:-1:noalign))
# The upper halves of vector registers may hold arguments of a call that is looked at: nothing here may clear them.
SHIM_VECTOR_CFLAGS = $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-mno-avx)
SHIM_CFLAGS = $(BASE_CFLAGS) $(SHIM_ONLY_CFLAGS) $(SHIM_ARCH_CFLAGS) $(POINTS) $(SHIM_SANITIZE) -O2 -fPIC -ftls-model=initial-exec \
              $(SHIM_VECTOR_CFLAGS)
SHIM_LDFLAGS = -shared -Wl,-soname,libflowtap-preload.so -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,defs \
               -Wl,--as-needed -Wl,--exclude-libs,ALL -static-libgcc $(SHIM_START_LDFLAGS) $(LDFLAGS)
# Each mapping and each page touched costs every program that starts: one mapping for what is not written, variables in
# the order that sys.h says, code in that of order.ld, and nothing of the compiler's own at start and end. A linker that
# knows none of that (LDFLAGS=-fuse-ld=gold) is asked once, with an object of nothing, and links it in its own order.
SHIM_START_LDFLAGS = -nostartfiles $(SHIM_ORDER_LDFLAGS)
SHIM_ORDER_LDFLAGS = $(eval SHIM_ORDER_LDFLAGS := $$(strip $(foreach one,$(SHIM_ORDER),$(call linked_with,$(one)))))$(SHIM_ORDER_LDFLAGS)
SHIM_ORDER := -Wl,-z,noseparate-code -Wl,--sort-section=name -Wl,-T,client/shim/order.ld
linked_with = $(shell mkdir -p $(O)/obj && $(CC) -shared -nostdlib -x c /dev/null -x none $(LDFLAGS) $(1) -o $(O)/obj/linked >/dev/null 2>&1 && echo '$(1)')
# The same code for unit tests: linked into the test binary, exporting nothing, sanitized where the variant is.
SHIM_UNIT_CFLAGS = $(BASE_CFLAGS) $(SHIM_ONLY_CFLAGS) $(SANITIZE) -DFT_SHIM_UNIT_TEST -fPIE

PKG_PROTO := libprotobuf-c zlib
PKG_DAEMON := libuv libsystemd
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PKG_PROTO) $(PKG_DAEMON) 2>/dev/null)
PROTO_LIBS = $(shell $(PKG_CONFIG) --libs $(PKG_PROTO)) -lm
DAEMON_LIBS = $(shell $(PKG_CONFIG) --libs $(PKG_DAEMON)) $(PROTO_LIBS)

# -------------------------------------------------------------------------------------------------------------- sources

PROTO_SRC := $(wildcard proto/*.c)
PROTO_DEF := $(wildcard proto/*.proto)
DAEMON_SRC := $(wildcard daemon/*.c)
TRACE_SRC := $(wildcard client/trace/*.c)
CLI_SRC := $(wildcard client/cli/*.c)
SHIM_SRC := $(wildcard client/shim/*.c client/shim/*.S)
ANNOTATE_SRC := $(wildcard client/annotate/*.c)
FUNCTIONS_SRC := $(wildcard client/functions/*.c)
# Slurm's plugin is built where its header is; SLURM_CFLAGS says where that is elsewhere. The sign comes from a variable,
# since make 4.3 no longer takes the backslash from '\#' in a function's arguments.
SLURM_CFLAGS ?=
hash := \#
HAS_SLURM := $(shell echo '$(hash)include <slurm/spank.h>' | $(CC) $(SLURM_CFLAGS) -E -x c - >/dev/null 2>&1 && echo yes)
SLURM_SRC := $(if $(HAS_SLURM),$(wildcard client/slurm/*.c))

object = $(addprefix $(O)/$(1)/,$(addsuffix .o,$(basename $(2))))

PROTO_GEN_H := $(PROTO_DEF:%.proto=$(O)/gen/%.pb-c.h)
PROTO_GEN_O := $(PROTO_DEF:%.proto=$(O)/obj/gen/%.pb-c.o)
PROTO_OBJ := $(call object,obj,$(PROTO_SRC)) $(PROTO_GEN_O)
DAEMON_OBJ := $(call object,obj,$(DAEMON_SRC))
TRACE_OBJ := $(call object,obj,$(TRACE_SRC))
CLI_OBJ := $(call object,obj,$(CLI_SRC))
SHIM_OBJ := $(call object,obj,$(SHIM_SRC))
SHIM_UNIT_OBJ := $(call object,obj/unit-shim,$(SHIM_SRC))
ANNOTATE_OBJ := $(call object,obj,$(ANNOTATE_SRC))
FUNCTIONS_OBJ := $(call object,obj,$(FUNCTIONS_SRC))
SLURM_OBJ := $(call object,obj,$(SLURM_SRC))

PROTO_LIB := $(O)/lib/libflowtap-proto.a
# What the command takes from libflowtap-trace, its inner parts too.
TRACE_PARTS := $(O)/obj/trace.a
TRACE_LIBS := $(if $(TRACE_SRC),$(O)/lib/libflowtap-trace.so $(O)/lib/libflowtap-trace.a)
DAEMON_UNIT_LIB := $(O)/obj/unit-daemon.a
CLI_UNIT_LIB := $(O)/obj/unit-cli.a

PROGRAMS := $(if $(CLI_SRC),$(O)/bin/flowtap) $(if $(DAEMON_SRC),$(O)/bin/flowtapd)
LIBRARIES := $(if $(PROTO_OBJ),$(PROTO_LIB)) $(if $(SHIM_SRC),$(O)/lib/libflowtap-preload.so) \
             $(if $(ANNOTATE_SRC),$(O)/lib/libflowtap.so) $(O)/lib/libflowtap-functions.so \
             $(TRACE_LIBS) $(if $(SLURM_SRC),$(O)/lib/slurm/spank_flowtap.so)

.PHONY: all
all: $(PROGRAMS) $(LIBRARIES)

# A change of compiler or flags rebuilds what it touches; whether warnings are errors changes nothing that is built.
FLAGS_FILE := $(O)/obj/flags
FLAGS_TEXT = $(subst ','\'',$(subst -Wno-error,-Werror,$(CC) $(HOST_CFLAGS) $(SHIM_CFLAGS)))
$(FLAGS_FILE): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_TEXT)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_TEXT)' > $@
.PHONY: FORCE
FORCE:

# ---------------------------------------------------------------------------------------------------------------- rules

DEPEND = -MMD -MP -MF $(@:.o=.d)
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' $(1) $(@:$(O)/%=%))

$(O)/gen/%.pb-c.c $(O)/gen/%.pb-c.h &: %.proto
	$(call say,PROTO)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) --c_out=$(O)/gen $<

$(O)/obj/gen/%.pb-c.o: $(O)/gen/%.pb-c.c $(FLAGS_FILE)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -w $(DEPEND) -c -o $@ $<

$(SHIM_OBJ): $(O)/obj/%.o:
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) $(DEPEND) -c -o $@ $(filter $*.c $*.S,$^)

$(SHIM_UNIT_OBJ): $(O)/obj/unit-shim/%.o:
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_UNIT_CFLAGS) $(DEPEND) -c -o $@ $(filter $*.c $*.S,$^)

define shim_source
$(call object,obj,$(1)) $(call object,obj/unit-shim,$(1)): $(1) $$(FLAGS_FILE)
endef
$(foreach source,$(SHIM_SRC),$(eval $(call shim_source,$(source))))

$(O)/obj/%.o: %.c $(FLAGS_FILE) | $(PROTO_GEN_H)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(DEPEND) -c -o $@ $<

$(PROTO_LIB): $(PROTO_OBJ)
$(TRACE_PARTS): $(TRACE_OBJ)
$(DAEMON_UNIT_LIB): $(filter-out %/main.o,$(DAEMON_OBJ))
$(CLI_UNIT_LIB): $(filter-out %/main.o,$(CLI_OBJ))
$(PROTO_LIB) $(TRACE_PARTS) $(DAEMON_UNIT_LIB) $(CLI_UNIT_LIB):
	$(call say,AR)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

$(O)/bin/flowtapd: $(DAEMON_OBJ) $(PROTO_LIB)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_LDFLAGS) -o $@ $^ $(DAEMON_LIBS)

$(O)/bin/flowtap: $(CLI_OBJ) $(TRACE_PARTS) $(PROTO_LIB)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_LDFLAGS) -o $@ $^ $(PROTO_LIBS)

$(O)/lib/libflowtap-preload.so: $(SHIM_OBJ) client/shim/order.ld
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_LDFLAGS) -o $@ $(filter %.o,$^)

# The application's library is loaded by any program, so it is not sanitized either.
$(ANNOTATE_OBJ) $(FUNCTIONS_OBJ): HOST_CFLAGS = $(BASE_CFLAGS) $(FORTIFY) -fPIC -fvisibility=hidden
$(O)/lib/libflowtap.so: $(ANNOTATE_OBJ)
# It stays loaded: threads that ran a plugin's code end after the plugin is gone.
$(O)/lib/libflowtap-functions.so: LDFLAGS += -Wl,-z,nodelete
$(O)/lib/libflowtap-functions.so: $(FUNCTIONS_OBJ)
$(O)/lib/libflowtap.so $(O)/lib/libflowtap-functions.so:
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(@F).$(ABI_VERSION) -Wl,-z,relro -Wl,-z,now -Wl,-z,defs $(LDFLAGS) -o $@ $^
	@ln -sf $(@F) $@.$(ABI_VERSION)

# What others read traces with: of all that is linked in, they see the header's functions alone.
$(O)/lib/libflowtap-trace.so: $(TRACE_OBJ) $(PROTO_LIB) client/trace/flowtap-trace.map
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(HOST_LDFLAGS) $(if $(SANITIZE),,-Wl,-z,defs) -Wl,-soname,libflowtap-trace.so.$(ABI_VERSION) \
		-Wl,--version-script=client/trace/flowtap-trace.map -o $@ $(filter %.o %.a,$^) $(PROTO_LIBS)
	@ln -sf libflowtap-trace.so $@.$(ABI_VERSION)

$(O)/lib/libflowtap-trace.a: $(TRACE_OBJ) $(PROTO_LIB)
	$(call say,AR)
	@mkdir -p $(@D) $(O)/obj
	$(Q)$(CC) -r -nostdlib -o $(O)/obj/flowtap-trace.o $^
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='flowtap_trace_*' $(O)/obj/flowtap-trace.o
	@rm -f $@
	$(Q)$(AR) rcs $@ $(O)/obj/flowtap-trace.o

# Loaded by Slurm's programs, which have its symbols.
$(SLURM_OBJ): HOST_CFLAGS = $(BASE_CFLAGS) $(FORTIFY) $(SLURM_CFLAGS) -fPIC
$(O)/lib/slurm/spank_flowtap.so: $(SLURM_OBJ)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-z,relro -Wl,-z,now $(LDFLAGS) -o $@ $^

# -------------------------------------------------------------------------------------------------------------- install

MAN1 := $(wildcard client/cli/*.1)
MAN3 := $(wildcard client/annotate/*.3 client/trace/*.3)
MAN8 := $(wildcard daemon/*.8 client/slurm/*.8)
UNITS := $(notdir $(wildcard systemd/*.in))

.PHONY: install uninstall
install: all
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR)/pkgconfig $(INCLUDEDIR) $(MANDIR)/man1 $(MANDIR)/man3 $(MANDIR)/man8 \
		$(SYSCONFDIR)/flowtap $(UNITDIR) $(SYSUSERSDIR) $(TMPFILESDIR))
	install -m 755 $(PROGRAMS) $(DESTDIR)$(BINDIR)/
	install -m 644 $(O)/lib/libflowtap-preload.so $(DESTDIR)$(LIBDIR)/
	for library in libflowtap.so libflowtap-functions.so libflowtap-trace.so; do \
		install -m 644 $(O)/lib/$$library $(DESTDIR)$(LIBDIR)/$$library.$(ABI_VERSION) && \
		ln -sf $$library.$(ABI_VERSION) $(DESTDIR)$(LIBDIR)/$$library || exit 1; done
	install -m 644 $(O)/lib/libflowtap-trace.a $(DESTDIR)$(LIBDIR)/
	install -d $(DESTDIR)$(LIBDIR)/slurm
	$(if $(SLURM_SRC),install -m 644 $(O)/lib/slurm/spank_flowtap.so $(DESTDIR)$(LIBDIR)/slurm/)
	install -m 755 client/slurm/task-prolog $(DESTDIR)$(LIBDIR)/slurm/
	install -m 644 client/annotate/flowtap.h client/trace/flowtap-trace.h $(DESTDIR)$(INCLUDEDIR)/
	for pc in client/annotate/flowtap.pc client/trace/flowtap-trace.pc; do \
		sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
			-e 's|@VERSION@|$(VERSION)|' $$pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/$${pc##*/} || exit 1; done
	$(if $(MAN1),install -m 644 $(MAN1) $(DESTDIR)$(MANDIR)/man1/)
	$(if $(MAN3),install -m 644 $(MAN3) $(DESTDIR)$(MANDIR)/man3/)
	$(if $(MAN8),install -m 644 $(MAN8) $(DESTDIR)$(MANDIR)/man8/)
	for unit in $(UNITS:.in=); do \
		sed -e 's|@BINDIR@|$(BINDIR)|' systemd/$$unit.in > $(DESTDIR)$(UNITDIR)/$$unit && \
		chmod 644 $(DESTDIR)$(UNITDIR)/$$unit || exit 1; done
	install -m 644 systemd/flowtap.sysusers $(DESTDIR)$(SYSUSERSDIR)/flowtap.conf
	install -m 644 systemd/flowtap.tmpfiles $(DESTDIR)$(TMPFILESDIR)/flowtap.conf
	sed 's|/usr/local/lib|$(LIBDIR)|' etc/apptainer-flowtap.conf > $(DESTDIR)$(SYSCONFDIR)/flowtap/apptainer-flowtap.conf
	# A configuration that somebody edited stays; the new one is laid beside it.
	if [ -e $(DESTDIR)$(SYSCONFDIR)/flowtap/flowtapd.conf ]; then \
		cmp -s etc/flowtapd.conf $(DESTDIR)$(SYSCONFDIR)/flowtap/flowtapd.conf || \
		install -m 644 etc/flowtapd.conf $(DESTDIR)$(SYSCONFDIR)/flowtap/flowtapd.conf.new; \
	else \
		install -m 644 etc/flowtapd.conf $(DESTDIR)$(SYSCONFDIR)/flowtap/; \
	fi

uninstall:
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,flowtap flowtapd)
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libflowtap-preload.so libflowtap.so libflowtap.so.$(ABI_VERSION) \
		libflowtap-functions.so libflowtap-functions.so.$(ABI_VERSION) \
		libflowtap-trace.so libflowtap-trace.so.$(ABI_VERSION) libflowtap-trace.a pkgconfig/flowtap.pc \
		pkgconfig/flowtap-trace.pc slurm/spank_flowtap.so slurm/task-prolog)
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/,flowtap.h flowtap-trace.h)
	rm -f $(addprefix $(DESTDIR)$(MANDIR)/man1/,$(notdir $(MAN1))) \
		$(addprefix $(DESTDIR)$(MANDIR)/man3/,$(notdir $(MAN3))) $(addprefix $(DESTDIR)$(MANDIR)/man8/,$(notdir $(MAN8)))
	rm -f $(addprefix $(DESTDIR)$(UNITDIR)/,$(UNITS:.in=))
	rm -f $(DESTDIR)$(SYSUSERSDIR)/flowtap.conf $(DESTDIR)$(TMPFILESDIR)/flowtap.conf
	rm -f $(addprefix $(DESTDIR)$(SYSCONFDIR)/flowtap/,flowtapd.conf.new apptainer-flowtap.conf)
	if cmp -s etc/flowtapd.conf $(DESTDIR)$(SYSCONFDIR)/flowtap/flowtapd.conf; then \
		rm -f $(DESTDIR)$(SYSCONFDIR)/flowtap/flowtapd.conf; fi

.PHONY: clean help
clean:
	rm -rf $(O)

help:
	@sed -n 's/^# make/make/p; s/^# | //p' Makefile tests/tests.mk

include tests/tests.mk

-include $(shell find $(O)/obj $(O)/fuzz $(O)/tests -name '*.d' 2>/dev/null)

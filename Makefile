# Interlude builds with make alone.
#
#   make              build/interlude, build/interlude-lab, libinterlude and the examples
#   make tests        the unit tests and the replayed fuzz targets, built but not run (script/test runs them)
#   make fuzz         the fuzz targets (clang and libFuzzer)
#   make benches      the programs that script/bench runs
#   make install      under PREFIX=/usr/local; DESTDIR= goes before it
#   make uninstall    removes what install put there, with the same PREFIX and DESTDIR
#   make clean        removes what was built in B
#   make help         this text
#
# B=DIR builds beside another build; CC=, OPT= and SAN= change how; WERROR=1 makes warnings errors, V=1 shows
# the commands:
#   make B=build/asan CC=clang SAN=address,undefined tests

# Floors. A room sees itself and the rooms named in its FLOOR line, and no other: each is compiled
# with its own include directory that holds links to just those. Its tests link just those.

B      ?= build
OPT    ?= -O3
SAN    ?=
PREFIX ?= /usr/local
AR     ?= ar

quoted = '$(subst ','\'',$(1))'

# Where make is asked for a B with a space in it, it builds through a link without one: make can't name such
# a file. All other paths are relative, so the checkout may stand anywhere, and a copy of it is its own.
ifeq ($(words $(B)),0)
override B := build
endif
ifneq ($(words $(B)),1)
B_ASKED := $(B)
B_LINK  := build/link/$(firstword $(shell printf %s $(call quoted,$(B)) | cksum))
$(shell mkdir -p $(call quoted,$(B)) build/link && ln -sfnr $(call quoted,$(B)) $(B_LINK))
override B := $(B_LINK)
endif

ROOMS := base wire table rule policy decide plan signal record serve lab app

FLOOR_base   := base
FLOOR_wire   := base wire
FLOOR_table  := base table
FLOOR_rule   := base rule
FLOOR_policy := base rule policy
FLOOR_decide := base wire rule policy decide
FLOOR_plan   := base wire table rule policy decide plan
FLOOR_signal := base wire table rule policy decide plan signal
FLOOR_record := base wire record
FLOOR_serve  := base wire table rule policy decide plan signal record serve
FLOOR_lab    := base wire record lab
FLOOR_app    := base wire table rule policy decide plan signal record serve lab app

# The commit is that of this checkout, not of one around it; in an archive of git's, the one that git wrote
# into COMMIT. `-dirty`: what is built was not committed.
GIT     := $(if $(wildcard .git),GIT_OPTIONAL_LOCKS=0 git -c safe.directory='*')
VERSION := $(shell cat VERSION)
COMMIT  := $(if $(GIT),$(shell { $(GIT) rev-parse --short=12 HEAD && \
             $(GIT) status --porcelain --untracked-files=no | sed 's/.*/-dirty/; q'; } 2>/dev/null))
COMMIT  := $(subst $() -,-,$(COMMIT))
COMMIT  := $(or $(COMMIT),$(shell sed -n 's/^\([0-9a-f]\{12\}\)[0-9a-f]*$$/\1/p' COMMIT 2>/dev/null),unknown)

WARN := -Wall -Wextra -Wno-unused-parameter -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
        -Wpointer-arith -Wwrite-strings -Wno-missing-field-initializers $(if $(WERROR),-Werror)
# What decides must decide the same everywhere: no fused multiply-add, no relaxed floating point.
SAME := -ffp-contract=off -fno-fast-math -fno-math-errno
SANF := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
CFLAGS_ALL = -std=gnu11 -D_GNU_SOURCE -g $(OPT) $(WARN) $(SAME) $(SANF) -fPIC -fvisibility=hidden -pthread \
             -MMD -MP $(CFLAGS)
LDFLAGS_ALL = $(SANF) -pthread $(LDFLAGS)
LIBS := -lyaml -lm

# `make V=1` shows the commands.
Q := $(if $(V),,@)

src_of     = $(sort $(wildcard src/$(1)/*.c))
obj_of     = $(patsubst src/%.c,$(B)/obj/%.o,$(call src_of,$(1)))
# Rooms above libinterlude's are taken from the build REST, where one is named: what does not decide need not
# be built anew to see whether a compiler decides otherwise.
LIB_ROOMS := base wire table rule policy decide plan
room_at    = $(if $(filter-out $(LIB_ROOMS),$(1)),$(or $(REST),$(B)),$(B))/room/$(1).a
archive_of = $(foreach r,$(1),$(call room_at,$(r)))
# From the top floor down, so that a linker that reads once finds everything.
linked_of  = $(foreach r,app lab serve record signal plan decide policy rule table wire base,\
               $(if $(filter $(r),$(FLOOR_$(1))),$(call room_at,$(r))))

.PHONY: .FORCE all tests benches fuzz examples install uninstall clean help
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/interlude $(B)/interlude-lab $(B)/libinterlude.a $(B)/libinterlude.so examples

# ---- rooms -------------------------------------------------------------------------------------

# $(call keep,LINES), each of them quoted: writes them where the target says something else. So what depends
# on it is built anew when the words change, and only then.
keep   = @mkdir -p $(@D); printf '%s\n' $(1) | cmp -s - $@ || printf '%s\n' $(1) > $@
H     := \#

.FORCE:
$(B)/flags: .FORCE
	$(call keep,$(call quoted,$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL)))
$(B)/sources: .FORCE
	$(call keep,$(foreach r,$(ROOMS),$(call src_of,$(r))))
$(B)/version.h: .FORCE
	$(call keep,'$(H)define INTERLUDE_VERSION "$(VERSION)"' '$(H)define INTERLUDE_COMMIT "$(COMMIT)"')
# A build outside of the checkout is of one checkout only. Beside what git made there is nothing to tell
# how old a source is: an archive that is unpacked over another may hold older ones.
$(B)/origin: .FORCE
	$(call keep,$(call quoted,$(if $(filter /% ../%,$(or $(B_ASKED),$(B))),$(CURDIR)) $(if $(GIT),,$(COMMIT))))

define ROOM
$(B)/floor/$(1)/.made: Makefile $(B)/origin
	@rm -rf $$(@D) && mkdir -p $$(@D)
	@for r in $(FLOOR_$(1)); do ln -sr src/$$$$r $$(@D)/$$$$r; done
	@touch $$@

$(B)/obj/$(1)/%.o: src/$(1)/%.c Makefile $(B)/flags $(B)/origin | $(B)/floor/$(1)/.made
	@mkdir -p $$(@D); echo "  CC    $$@"
	$$(Q)$$(CC) $$(CFLAGS_ALL) -I$(B)/floor/$(1) -Iinclude $$(CFLAGS_$(1)) -c -o $$@ $$<

$(B)/room/$(1).a: $(call obj_of,$(1)) Makefile $(B)/sources
	@mkdir -p $$(@D) && rm -f $$@
	$$(Q)$$(AR) rcs $$@ $(call obj_of,$(1))
endef
$(foreach r,$(ROOMS),$(eval $(call ROOM,$(r))))

# The files that name the version or the commit.
TELL_VERSION := $(patsubst src/%.c,$(B)/obj/%.o,\
                  $(shell grep -l 'INTERLUDE_VERSION\|INTERLUDE_COMMIT' src/app/*.c))
$(TELL_VERSION): $(B)/version.h
$(TELL_VERSION): CFLAGS_app := -include $(B)/version.h

# The demonstration plan is part of the program.
$(B)/obj/plan/plan_demo.o: examples/interlude.yaml
CFLAGS_plan = -DDEMO_PLAN_PATH='"examples/interlude.yaml"'

# ---- programs ----------------------------------------------------------------------------------

$(B)/interlude: $(B)/obj/app/main.o $(call archive_of,$(ROOMS))
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(call linked_of,app) $(LIBS)

$(B)/interlude-lab: $(B)/obj/app/lab_main.o $(call archive_of,$(ROOMS))
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(call linked_of,app) $(LIBS)

# ---- libinterlude: the pure core, for deciding in one's own process ------------------------------

LIB_OBJS   = $(filter-out $(B)/obj/wire/http_%.o $(B)/obj/base/clock.o,\
               $(foreach r,$(LIB_ROOMS),$(call obj_of,$(r))))

# One object, in which only the public names are global.
$(B)/libinterlude.o: $(LIB_OBJS) $(B)/sources
	$(Q)$(CC) -r -nostdlib -o $@ $(LIB_OBJS)
	$(Q)objcopy --wildcard --keep-global-symbol='interlude_*' $@

$(B)/libinterlude.a: $(B)/libinterlude.o
	$(Q)rm -f $@ && $(AR) rcs $@ $<

$(B)/libinterlude.so: $(LIB_OBJS) $(B)/sources
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -Wl,-soname,libinterlude.so.0 -Wl,-z,defs -o $@ $(LIB_OBJS) $(LIBS)
	$(Q)ln -sf libinterlude.so $(B)/libinterlude.so.0

EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%,$(wildcard examples/*.c))
examples: $(EXAMPLES)
$(B)/examples/%: examples/%.c include/interlude.h $(B)/libinterlude.a
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -g $(OPT) $(WARN) $(SANF) -Iinclude -o $@ $< $(B)/libinterlude.a $(LIBS)

# Written anew each time: PREFIX may be another one.
$(B)/libinterlude.pc: libinterlude.pc.in VERSION .FORCE
	@mkdir -p $(@D)
	$(Q)sed $(call quoted,s|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|) $< > $@

# What is installed, once: a program, library or text, and its place under PREFIX. (An operator's DESTDIR and
# PREFIX may hold spaces.)
INSTALLED := interlude:755:bin/interlude interlude-lab:755:bin/interlude-lab \
             libinterlude.a:644:lib/libinterlude.a libinterlude.so:755:lib/libinterlude.so.0 \
             libinterlude.pc:644:lib/pkgconfig/libinterlude.pc

install: all $(B)/libinterlude.pc
	@set -e; to=$(call quoted,$(DESTDIR)$(PREFIX)); for one in $(INSTALLED); do \
	  place="$$to/$${one##*:}"; mode=$${one#*:}; \
	  install -D -m "$${mode%%:*}" "$(B)/$${one%%:*}" "$$place"; echo "  TO    $$place"; \
	done; \
	install -D -m 644 include/interlude.h "$$to/include/interlude.h"; \
	ln -sf libinterlude.so.0 "$$to/lib/libinterlude.so"

# Directories stay: who else uses them is not known here.
uninstall:
	@to=$(call quoted,$(DESTDIR)$(PREFIX)); for one in $(INSTALLED) include/interlude.h lib/libinterlude.so; do \
	  rm -f "$$to/$${one##*:}"; \
	done

# ---- tests: tests/unit/ROOM/NAME_test.c links ROOM and the rooms below it, no other --------------

UNIT_SRCS := $(sort $(wildcard tests/unit/*/*_test.c))
UNIT_BINS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRCS))

# Some tests stand in the place of functions that the code under test calls: in that of malloc and its
# kin, to make allocations fail (tests/unit/no_memory.h); of the clock, to turn it; of what waits,
# sends and receives, to make that fail.
WRAP_no_memory_test := malloc calloc realloc aligned_alloc strdup
WRAP_loop_test      := clock_mono_ns epoll_wait
WRAP_admin_test     := clock_mono_ns
WRAP_faults_test    := send sendmsg recv write
wrap_link            = $(foreach f,$(WRAP_$(1)),-Wl,--wrap=$(f))
NO_MEMORY_LINK := -Wl,-Bstatic -lyaml -Wl,-Bdynamic

define UNIT
$(B)/unit/$(1)/%: tests/unit/$(1)/%.c $(call linked_of,$(1)) $(wildcard tests/unit/*.h) $(wildcard tests/unit/$(1)/*.h)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_ALL) -I$(B)/floor/$(1) -Iinclude -Itests/unit -o $$@ $$< \
	  $$(LDFLAGS_ALL) $(call linked_of,$(1)) $$(call wrap_link,$$*) $$(if $$(filter no_memory_test,$$*),$$(NO_MEMORY_LINK)) \
	  -lcmocka -ljansson $$(LIBS)
endef
$(foreach r,$(ROOMS),$(eval $(call UNIT,$(r))))

# ---- fuzzing: fuzz/NAME_fuzz.c; without libFuzzer, a driver that replays files -------------------

FUZZ_SRCS   := $(sort $(wildcard fuzz/*_fuzz.c))
FUZZ_BINS   := $(patsubst fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRCS))
REPLAY_BINS := $(patsubst fuzz/%_fuzz.c,$(B)/replay/%,$(FUZZ_SRCS))
WRAP_server := clock_mono_ns epoll_wait send sendmsg recv

$(B)/replay/%: fuzz/%_fuzz.c fuzz/replay.c $(call linked_of,serve)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I$(B)/floor/serve -Iinclude -Ifuzz -o $@ $< fuzz/replay.c $(LDFLAGS_ALL) \
	  $(call linked_of,serve) $(call wrap_link,$*) -ljansson $(LIBS)

$(B)/fuzz/%_fuzz: fuzz/%_fuzz.c $(call linked_of,serve)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer -I$(B)/floor/serve -Iinclude -Ifuzz -o $@ $< \
	  $(LDFLAGS_ALL) $(call linked_of,serve) $(call wrap_link,$*) -ljansson $(LIBS)

# ---- bench/NAME_bench.c ------------------------------------------------------------------------

BENCH_BINS := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*_bench.c))

$(B)/bench/%: bench/%.c $(call linked_of,serve)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I$(B)/floor/serve -Iinclude -o $@ $< $(LDFLAGS_ALL) $(call linked_of,serve) \
	  $(LIBS)

benches: $(BENCH_BINS)

tests: $(UNIT_BINS) $(REPLAY_BINS)

ifeq ($(MAKELEVEL),0)
fuzz:
	$(MAKE) B=$(B)/fuzzer CC=clang OPT=-O1 SAN=address,undefined \
	  CFLAGS='-fsanitize=fuzzer-no-link' fuzz
else
fuzz: $(FUZZ_BINS)
endif

clean:
	rm -rf $(if $(B_LINK),$(call quoted,$(B_ASKED))) $(B)

help:
	@sed '/^#/!Q; s/^# \?//' Makefile

-include $(shell find $(B)/ -name '*.d' 2>/dev/null)

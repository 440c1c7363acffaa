# Interlude builds with make alone.
#
#   make              build/interlude, build/interlude-lab, libinterlude and the examples
#   make tests        the unit tests and the replayed fuzz targets, built but not run
#   make fuzz         the fuzz targets (clang and libFuzzer)
#   make install      PREFIX=/usr/local, DESTDIR=
#
# B=DIR builds beside another build; OPT= and SAN= change how; WERROR=1 makes warnings errors:
#   make B=build/asan CC=clang SAN=address,undefined tests
#
# Floors. A room sees itself and the rooms named in its FLOOR line, and no other: each is compiled
# with its own include directory that holds links to just those. Its tests link just those.

B      ?= build
OPT    ?= -O3
SAN    ?=
PREFIX ?= /usr/local
AR     ?= ar

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

VERSION := $(shell cat VERSION)
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

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
archive_of = $(foreach r,$(1),$(B)/room/$(r).a)
# From the top floor down, so that a linker that reads once finds everything.
linked_of  = $(foreach r,app lab serve record signal plan decide policy rule table wire base,\
               $(if $(filter $(r),$(FLOOR_$(1))),$(B)/room/$(r).a))

.PHONY: .FORCE all tests benches fuzz examples install clean
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/interlude $(B)/interlude-lab $(B)/libinterlude.a $(B)/libinterlude.so examples

# ---- rooms -------------------------------------------------------------------------------------

define ROOM
$(B)/floor/$(1)/.made: Makefile
	@rm -rf $$(@D) && mkdir -p $$(@D)
	@for r in $(FLOOR_$(1)); do ln -s $(abspath src)/$$$$r $$(@D)/$$$$r; done
	@touch $$@

$(B)/obj/$(1)/%.o: src/$(1)/%.c Makefile $(B)/flags | $(B)/floor/$(1)/.made
	@mkdir -p $$(@D); echo "  CC    $$@"
	$$(Q)$$(CC) $$(CFLAGS_ALL) -I$(B)/floor/$(1) -Iinclude $$(CFLAGS_$(1)) -c -o $$@ $$<

$(B)/room/$(1).a: $(call obj_of,$(1)) Makefile
	@mkdir -p $$(@D) && rm -f $$@
	$$(Q)$$(AR) rcs $$@ $(call obj_of,$(1))
endef
$(foreach r,$(ROOMS),$(eval $(call ROOM,$(r))))

CFLAGS_app = -DINTERLUDE_VERSION='"$(VERSION)"' -DINTERLUDE_COMMIT='"$(COMMIT)"'

# Rebuilds when the flags change.
$(B)/flags: .FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL)' | cmp -s - $@ || \
	 echo '$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL)' > $@
.FORCE:

# The demonstration plan is part of the program.
$(B)/obj/plan/plan_demo.o: examples/interlude.yaml
CFLAGS_plan = -DDEMO_PLAN_PATH='"$(abspath examples/interlude.yaml)"'

# ---- programs ----------------------------------------------------------------------------------

$(B)/interlude: $(B)/obj/app/main.o $(call archive_of,$(ROOMS))
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(call linked_of,app) $(LIBS)

$(B)/interlude-lab: $(B)/obj/app/lab_main.o $(call archive_of,$(ROOMS))
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(call linked_of,app) $(LIBS)

# ---- libinterlude: the pure core, for deciding in one's own process ------------------------------

LIB_ROOMS := base wire table rule policy decide plan
LIB_OBJS   = $(filter-out $(B)/obj/wire/http_%.o $(B)/obj/base/clock.o,\
               $(foreach r,$(LIB_ROOMS),$(call obj_of,$(r))))

# One object, in which only the public names are global.
$(B)/libinterlude.o: $(LIB_OBJS)
	$(Q)$(CC) -r -nostdlib -o $@ $(LIB_OBJS)
	$(Q)objcopy --wildcard --keep-global-symbol='interlude_*' $@

$(B)/libinterlude.a: $(B)/libinterlude.o
	$(Q)rm -f $@ && $(AR) rcs $@ $<

$(B)/libinterlude.so: $(LIB_OBJS)
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
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $< > $@

install: all $(B)/libinterlude.pc
	install -Dm755 $(B)/interlude $(DESTDIR)$(PREFIX)/bin/interlude
	install -Dm755 $(B)/interlude-lab $(DESTDIR)$(PREFIX)/bin/interlude-lab
	install -Dm644 $(B)/libinterlude.a $(DESTDIR)$(PREFIX)/lib/libinterlude.a
	install -Dm755 $(B)/libinterlude.so $(DESTDIR)$(PREFIX)/lib/libinterlude.so.0
	ln -sf libinterlude.so.0 $(DESTDIR)$(PREFIX)/lib/libinterlude.so
	install -Dm644 include/interlude.h $(DESTDIR)$(PREFIX)/include/interlude.h
	install -Dm644 $(B)/libinterlude.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/libinterlude.pc

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
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

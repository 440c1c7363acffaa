/* The demonstration plan, in the program.
 *
 * The file goes in by the assembler's .incbin, which gcc and clang have on every machine that the
 * server runs on. An array of its bytes would need a generator and a second copy of the text in the
 * build; C's own #embed is too young for the compilers that are asked for; an object made by the
 * linker or by objcopy names its symbols after the path and has to be told the machine's format. */
#include "plan/plan_load.h"

__asm__(".pushsection .rodata\n"
        ".local demo_plan_start\n"
        ".local demo_plan_end\n"
        "demo_plan_start:\n"
        ".incbin \"" DEMO_PLAN_PATH "\"\n"
        "demo_plan_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const char demo_plan_start[] __attribute__((visibility("hidden")));
extern const char demo_plan_end[] __attribute__((visibility("hidden")));

struct span plan_demo_text(void)
{
    return (struct span){demo_plan_start, (size_t)(demo_plan_end - demo_plan_start)};
}

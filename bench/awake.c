/* Keeps the core that it runs on from halting, and takes nothing from anybody: whatever else wants
 * the core has it at once (SCHED_IDLE). Until it is ended, or whoever started it is gone.
 *
 * On a virtual machine a halted core is the hypervisor's to give back, and on a busy host that can
 * take milliseconds. A light load would measure that, and not the server. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

int main(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sched_param none = {0};
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
        perror("awake");
        return 1;
    }
    for (;;) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}

/* target_cpu: the processor time that a server has used so far.
 *
 * From the system if its process id is known: summed over all threads of the process and of every
 * process below it (nginx's master does nothing, its workers do), to the nanosecond. What ends
 * takes its time with it, so this is for servers with fixed threads and processes. Else from the
 * process_cpu_seconds_total of its metrics, which is that process alone. Any thread; reads files or
 * asks over HTTP: not while load is being made. */
#ifndef INTERLUDE_LAB_TARGET_CPU_H
#define INTERLUDE_LAB_TARGET_CPU_H

#include "base/err.h"
#include "lab/load_target.h"

enum err_code target_cpu_of_pid(int pid, double *seconds, struct err *e) MUST_CHECK;
enum err_code target_cpu_of_metrics(const struct load_target *metrics, double *seconds,
                                    struct err *e) MUST_CHECK;

#endif

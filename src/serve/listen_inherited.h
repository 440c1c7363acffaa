/* listen_inherited: listening sockets that whoever started us opened, as systemd hands them over.
 *
 * LISTEN_FDS says how many there are, from descriptor 3 on; LISTEN_PID for which process; and
 * LISTEN_FDNAMES, with colons between, which is which: `decide` and `admin`, in that order where it
 * is left out. See sd_listen_fds(3). They are shared with whoever holds them (and may be the next
 * server's, too), so nothing about them is changed that he would see: no flag, no option.
 *
 * Threads: before any is started: it changes the environment. Nothing else may have been opened
 * since the start of the process. */
#ifndef INTERLUDE_SERVE_LISTEN_INHERITED_H
#define INTERLUDE_SERVE_LISTEN_INHERITED_H

#include "base/err.h"

/* Descriptors; 0: not inherited. */
struct listen_inherited {
    int decide, admin;
};

/* Reads the three variables, and takes them out of the environment: they are not our children's.
 * The descriptors become the caller's, closed on exec. Neither is set where the variables are
 * missing or meant for another process. ERR_USAGE: they make no sense, or the descriptors are no
 * listening TCP sockets; none is the caller's then. */
enum err_code listen_inherit(struct listen_inherited *out, struct err *e) MUST_CHECK;

#endif

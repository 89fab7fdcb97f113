// Gives the programs of these tests a wall clock with a constant offset and a fixed name of the machine.
//
// The recorded journals have fixed times, and pages, statistics, retention and sessions depend on the time since then. The clocks
// of timers are those of the system. See ../README.md.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    const char *text = getenv("GOLDEN_CLOCK_OFFSET");
    return text ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, id, now);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (seconds) *seconds = now.tv_sec;
    return now.tv_sec;
}

int gethostname(char *name, size_t length) {
    strncpy(name, "gateway-host", length);
    return 0;
}

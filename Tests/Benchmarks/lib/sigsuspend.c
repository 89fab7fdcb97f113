// Lets valgrind 3.19 run programs that use libdispatch: loaded with LD_PRELOAD, passes a copy of its mask to sigsuspend. libdispatch's
// main thread waits with a constant mask, to which valgrind writes, and so it crashes.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

// The size of a signal mask in the kernel.
enum { KERNEL_MASK_BYTES = 8 };

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, KERNEL_MASK_BYTES);
}

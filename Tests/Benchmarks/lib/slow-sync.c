// Simulates a slower disk: loaded with LD_PRELOAD, delays each synchronous write of a program. SLOW_SYNC_US is the delay in
// microseconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void wait_longer(void) {
    static int microseconds = -1;
    if (microseconds < 0) {
        const char *text = getenv("SLOW_SYNC_US");
        microseconds = text ? atoi(text) : 0;
    }
    int saved = errno;
    if (microseconds > 0) usleep((useconds_t)microseconds);
    errno = saved;
}

static ssize_t write_slowly(const char *name, int fd, const void *bytes, size_t count, off_t offset) {
    ssize_t (*real)(int, const void *, size_t, off_t) = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
    ssize_t written = real(fd, bytes, count, offset);
    if (fcntl(fd, F_GETFL) & O_DSYNC) wait_longer();
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return write_slowly("pwrite", fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
    return write_slowly("pwrite64", fd, bytes, count, offset);
}

int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int result = real(fd);
    wait_longer();
    return result;
}

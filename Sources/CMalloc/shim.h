// What the gateway uses of the system's allocator.
#pragma once
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

// Returns free memory to the system, from the middle of the heap and of all arenas too. Other C libraries do so by themselves.
static inline void notify_gateway_trim_heap(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Returns the resident memory of the process besides that of mapped files, in bytes, or 0 if the system does not tell.
static inline long notify_gateway_resident_bytes(void) {
    // "size resident shared …", in pages.
    char text[128];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = 0;
    char *next;
    strtol(text, &next, 10);
    long resident = strtol(next, &next, 10);
    return (resident - strtol(next, NULL, 10)) * sysconf(_SC_PAGESIZE);
}

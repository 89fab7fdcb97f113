// What the gateway uses of the system's allocator.
#pragma once
#include <malloc.h>

// Returns free memory to the system, from the middle of the heap and of all arenas too. Other C libraries do so by themselves.
static inline void notify_gateway_trim_heap(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Reports the mutexes of Swift's Synchronization module to the thread sanitizer.
//
// If two threads contend for such a mutex, the kernel transfers it (futex(2), FUTEX_LOCK_PI). The code of that path is not
// instrumented: the sanitizer sees no order between the threads and reports a data race in the guarded state. The two wrappers in
// this file call the original functions and report the acquire and the release. Load this library with LD_PRELOAD into programs
// built with -sanitize=thread; in other programs it has no effect.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

SWIFT void lock_slow(uint32_t thread, SELF mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF mutex) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF mutex) {
    SWIFT void (*original)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK);
    original(thread, mutex);
    // The address of the mutex is that of its futex; the instrumented path without contention uses the same address.
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF mutex) {
    SWIFT void (*original)(SELF) = dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    original(mutex);
}

// Tells the thread sanitizer of the mutexes of Swift's Synchronization module.
//
// Where two threads want such a mutex at a time, the library has the kernel hand it over (futex(2), FUTEX_LOCK_PI), in code that
// is not instrumented: the sanitizer sees no order between the threads, and takes what the mutex guards for a data race. This
// stands before those two functions and says what they do. To be loaded by LD_PRELOAD into programs built with
// -sanitize=thread; in others it does nothing.
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
    // The mutex is its futex: the same address as that of the atomic exchanges where nobody waits.
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF mutex) {
    SWIFT void (*original)(SELF) = dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    original(mutex);
}

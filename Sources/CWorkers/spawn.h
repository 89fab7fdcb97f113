// C functions for worker processes: the start of a worker, its protection, and its sockets.
//
// Compiled without _GNU_SOURCE: with it the system's headers define some types (fd_set) differently from the other C
// modules, and Swift rejects two definitions of one type.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// A constant that the headers define for _GNU_SOURCE only. Its value belongs to the stable ABI of glibc.
#ifndef POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0x80
#endif

// The descriptor of a worker's socket.
#define NOTIFY_GATEWAY_WORKER_SOCKET 3

// Starts a worker in a session of its own, with `socket` as its descriptor 3 and no other descriptor above 2. Returns
// 0, or an errno value.
static inline int notify_gateway_spawn(
    const char *program, char *const arguments[], char *const environment[], int socket, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int fault = posix_spawn_file_actions_init(&files);
    if (fault != 0) return fault;
    fault = posix_spawnattr_init(&attributes);
    if (fault != 0) {
        posix_spawn_file_actions_destroy(&files);
        return fault;
    }
    // The socket is duplicated first, because its number may be one of those that are replaced.
    if (fault == 0) fault = posix_spawn_file_actions_adddup2(&files, socket, NOTIFY_GATEWAY_WORKER_SOCKET);
    for (int standard = 0; standard < 3 && fault == 0; standard++) {
        fault = posix_spawn_file_actions_addopen(&files, standard, "/dev/null", standard == 0 ? O_RDONLY : O_WRONLY, 0);
    }
    if (fault == 0) fault = posix_spawn_file_actions_addclosefrom_np(&files, NOTIFY_GATEWAY_WORKER_SOCKET + 1);
    if (fault == 0) fault = posix_spawnattr_setsigdefault(&attributes, &all);
    if (fault == 0) fault = posix_spawnattr_setsigmask(&attributes, &none);
    if (fault == 0) {
        fault = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    if (fault == 0) fault = posix_spawn(pid, program, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return fault;
}

// Disables core dumps, and access of other processes of the same user to this process's memory. The limit holds in all
// processes that it starts; a core dump that the kernel pipes to a program does not obey it, and obeys the second call.
static inline void notify_gateway_protect_memory(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Connects to a SOCK_SEQPACKET socket at the path, or listens on it if `backlog` is above 0. Returns the descriptor,
// or -1 and errno.
static inline int notify_gateway_packet_socket(const char *path, int backlog) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    int done = backlog > 0 ? bind(descriptor, (const struct sockaddr *)&address, sizeof address)
                           : connect(descriptor, (const struct sockaddr *)&address, sizeof address);
    if (done == 0 && backlog > 0) done = listen(descriptor, backlog);
    if (done == 0) return descriptor;
    int fault = errno;
    close(descriptor);
    errno = fault;
    return -1;
}

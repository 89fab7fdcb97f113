// The state of a worker process that modules can change. A change could make later logins see a different system.
#pragma once
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOTIFY_GATEWAY_LIMITS 16

struct notify_gateway_state {
    // Real, effective, saved and file-system user and group ids; capabilities; supplementary groups.
    unsigned int users[4], groups[4], capabilities[6];
    int group_count, no_new_privileges;
    gid_t supplementary[128];
    // Device and inode of the root directory, the mount namespace, the network namespace and the working directory.
    unsigned long long root[2], mounts[2], network[2], directory[2];
    struct rlimit limits[NOTIFY_GATEWAY_LIMITS];
    unsigned int umask;
    sigset_t blocked;
};

static inline void notify_gateway_identify_file(const char *path, unsigned long long identity[2]) {
    struct stat status;
    if (stat(path, &status) != 0) return;
    identity[0] = (unsigned long long)status.st_dev;
    identity[1] = (unsigned long long)status.st_ino;
}

// Reads the state of this process. Fields that cannot be read are zero.
static inline void notify_gateway_read_state(struct notify_gateway_state *state) {
    memset(state, 0, sizeof *state);
    syscall(SYS_getresuid, &state->users[0], &state->users[1], &state->users[2]);
    syscall(SYS_getresgid, &state->groups[0], &state->groups[1], &state->groups[2]);
    // An invalid id changes nothing, and the call returns the current one.
    state->users[3] = (unsigned int)syscall(SYS_setfsuid, -1);
    state->groups[3] = (unsigned int)syscall(SYS_setfsgid, -1);
    struct { unsigned int version; int pid; } header = {0x20080522, 0};
    syscall(SYS_capget, &header, state->capabilities);
    state->no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    state->group_count = getgroups(128, state->supplementary);
    notify_gateway_identify_file("/", state->root);
    notify_gateway_identify_file("/proc/self/ns/mnt", state->mounts);
    notify_gateway_identify_file("/proc/self/ns/net", state->network);
    notify_gateway_identify_file(".", state->directory);
    for (int limit = 0; limit < NOTIFY_GATEWAY_LIMITS; limit++) getrlimit(limit, &state->limits[limit]);
    state->umask = (unsigned int)umask(0);
    umask((mode_t)state->umask);
    sigprocmask(SIG_SETMASK, NULL, &state->blocked);
}

// Returns the differences as bits: 1 user, 2 root directory or namespace, 4 limits, 8 working directory, 16 umask, 32
// blocked signals.
static inline int notify_gateway_state_changes(
    const struct notify_gateway_state *before, const struct notify_gateway_state *now) {
    int changes = 0;
    if (memcmp(before->users, now->users, sizeof now->users) != 0
        || memcmp(before->groups, now->groups, sizeof now->groups) != 0
        || memcmp(before->capabilities, now->capabilities, sizeof now->capabilities) != 0
        || before->group_count != now->group_count || before->no_new_privileges != now->no_new_privileges
        || memcmp(before->supplementary, now->supplementary, sizeof now->supplementary) != 0) changes |= 1;
    if (memcmp(before->root, now->root, sizeof now->root) != 0
        || memcmp(before->mounts, now->mounts, sizeof now->mounts) != 0
        || memcmp(before->network, now->network, sizeof now->network) != 0) changes |= 2;
    if (memcmp(before->limits, now->limits, sizeof now->limits) != 0) changes |= 4;
    if (memcmp(before->directory, now->directory, sizeof now->directory) != 0) changes |= 8;
    if (before->umask != now->umask) changes |= 16;
    if (memcmp(&before->blocked, &now->blocked, sizeof now->blocked) != 0) changes |= 32;
    return changes;
}

// What the PAM workers need of libpam and of the kernel where Swift cannot say it: a conversation that knows a password and
// nothing else, a spawned worker, the credentials behind a socket.
//
// Without _GNU_SOURCE, on purpose: with it the system's headers define types (fd_set) otherwise than in the other C modules,
// and Swift refuses to see two definitions of one type.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// What the headers have for _GNU_SOURCE only; the numbers are the kernel's and glibc's, and never change.
#ifndef POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0x80
#endif
#ifndef POLLRDHUP
#define POLLRDHUP 0x2000
#endif

// The descriptor of a worker's socket, whoever started it.
#define NOTIFY_GATEWAY_WORKER_SOCKET 3

// Wipes the answers given so far. libpam leaves them to us when the conversation fails.
static inline void notify_gateway_wipe_answers(struct pam_response *answers, int count) {
    for (int i = 0; i < count; i++) {
        if (answers[i].resp == NULL) continue;
        explicit_bzero(answers[i].resp, strlen(answers[i].resp));
        free(answers[i].resp);
    }
    free(answers);
}

// Answers prompts without echo with the password (`data`, or NULL where there is none), passes over messages, and fails on
// everything else: a question that is not for the password must not get it.
static inline int notify_gateway_converse(
    int count, const struct pam_message **messages, struct pam_response **result, void *data) {
    const char *password = (const char *)data;
    if (count <= 0 || count > PAM_MAX_NUM_MSG || messages == NULL || result == NULL) return PAM_CONV_ERR;
    struct pam_response *answers = (struct pam_response *)calloc((size_t)count, sizeof *answers);
    if (answers == NULL) return PAM_BUF_ERR;
    for (int i = 0; i < count; i++) {
        int style = messages[i] != NULL ? messages[i]->msg_style : 0;
        if (style == PAM_TEXT_INFO || style == PAM_ERROR_MSG) continue;
        if (style == PAM_PROMPT_ECHO_OFF && password != NULL) {
            answers[i].resp = strdup(password);
            if (answers[i].resp != NULL) continue;
        }
        notify_gateway_wipe_answers(answers, count);
        return PAM_CONV_ERR;
    }
    *result = answers;
    return PAM_SUCCESS;
}

// In place of libpam's sleep after a failure: a sleeping worker is one that serves nobody.
static inline void notify_gateway_no_delay(int status, unsigned int microseconds, void *data) {
    (void)status, (void)microseconds, (void)data;
}

// Begins a transaction. `directory` is NULL for the system's own stacks. The password must outlive the transaction.
static inline int notify_gateway_pam_start(
    const char *service, const char *user, const char *password, const char *directory, pam_handle_t **handle) {
    struct pam_conv conversation = {notify_gateway_converse, (void *)password};
    *handle = NULL;
    int status = directory != NULL ? pam_start_confdir(service, user, &conversation, directory, handle)
                                   : pam_start(service, user, &conversation, handle);
    if (status != PAM_SUCCESS) return status;
    return pam_set_item(*handle, PAM_FAIL_DELAY, (const void *)notify_gateway_no_delay);
}

// Starts a worker in a session of its own with nothing but `socket`, as its descriptor 3. 0, or what errno says.
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
    // The socket first: it could itself be one of the descriptors that are replaced.
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

// Makes this process one whose memory nobody reads. It ends with its guardian.
static inline void notify_gateway_harden_worker(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Lets signals through that whoever started this process has blocked: a service has to hear that it should end.
static inline void notify_gateway_unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// The next connection, or -1 and errno. For programs that start no process meanwhile: accept4 is one of GNU's.
static inline int notify_gateway_accept(int listener) {
    int connection = accept(listener, NULL, NULL);
    if (connection >= 0) fcntl(connection, F_SETFD, FD_CLOEXEC);
    return connection;
}

// The user behind the other end of a Unix socket. 0, or what errno says.
static inline int notify_gateway_peer_uid(int socket, uid_t *uid) {
    struct {
        pid_t pid;
        uid_t uid;
        gid_t gid;
    } peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return errno;
    if (length != sizeof peer) return EINVAL;
    *uid = peer.uid;
    return 0;
}

// A descriptor that becomes readable when the process ends, or -1.
static inline int notify_gateway_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
}

// Connects to, or with `backlog` above 0 listens at, a socket of packets at the path. The descriptor, or -1 and errno.
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

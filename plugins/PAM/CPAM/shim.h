// C functions for the PAM workers: a PAM conversation that supplies a password and nothing else, and the credentials of
// a socket's peer.
//
// Compiled without _GNU_SOURCE: with it the system's headers define some types (fd_set) differently from the other C
// modules, and Swift rejects two definitions of one type.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <shadow.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// A constant that the headers define for _GNU_SOURCE only. Its value belongs to the stable ABI of the kernel.
#ifndef POLLRDHUP
#define POLLRDHUP 0x2000
#endif

// Wipes and frees the responses. libpam leaves them to the application when the conversation fails.
static inline void notify_gateway_wipe_answers(struct pam_response *answers, int count) {
    for (int i = 0; i < count; i++) {
        if (answers[i].resp == NULL) continue;
        explicit_bzero(answers[i].resp, strlen(answers[i].resp));
        free(answers[i].resp);
    }
    free(answers);
}

// The PAM conversation. Responds to prompts without echo with the password (`data`, or NULL for none), ignores
// messages, and fails for any other prompt, which must not receive the password.
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

// Replaces libpam's sleep after a failure, because a sleeping worker serves nobody.
static inline void notify_gateway_no_delay(int status, unsigned int microseconds, void *data) {
    (void)status, (void)microseconds, (void)data;
}

// Starts a transaction. `directory` is NULL for the system's directories. The password must outlive the transaction.
static inline int notify_gateway_pam_start(
    const char *service, const char *user, const char *password, const char *directory, pam_handle_t **handle) {
    struct pam_conv conversation = {notify_gateway_converse, (void *)password};
    *handle = NULL;
    int status = directory != NULL ? pam_start_confdir(service, user, &conversation, directory, handle)
                                   : pam_start(service, user, &conversation, handle);
    if (status != PAM_SUCCESS) return status;
    return pam_set_item(*handle, PAM_FAIL_DELAY, (const void *)notify_gateway_no_delay);
}

// Unblocks the signals that the parent process blocked, so that the service receives SIGTERM.
static inline void notify_gateway_unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// Accepts a connection; returns -1 and sets errno on failure. accept4 is a GNU extension; this is safe only in
// programs that start no process at the same time.
static inline int notify_gateway_accept(int listener) {
    int connection = accept(listener, NULL, NULL);
    if (connection >= 0) fcntl(connection, F_SETFD, FD_CLOEXEC);
    return connection;
}

// Writes the uid of a Unix socket's peer to `uid`. Returns 0, or an errno value.
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

// Returns a descriptor that becomes readable when the process exits, or -1.
static inline int notify_gateway_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
}

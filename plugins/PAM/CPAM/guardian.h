// What ends with a PAM worker: everything that its modules started, wherever that went.
//
// The process that the gateway starts as a worker splits in two. The guardian stays and waits; the worker, its child, asks PAM. When
// the worker ends, or the gateway closes its end of the connection, also by being killed, the guardian kills all of its
// descendants. It is a subreaper (prctl(2)), so that a process whose parent has ended, in a session of its own or not, is its
// child again and is found.
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef POLLRDHUP
#define POLLRDHUP 0x2000
#endif

// By this the guardian is told to end: by the gateway, and by the kernel when the thread that started it is gone.
#define NOTIFY_GATEWAY_END_WORKER SIGUSR1

// The parent of a process, or -1 where there is no such process.
static inline pid_t notify_gateway_parent_of(const char *number) {
    char path[64] = "/proc/", text[512];
    size_t length = strlen(number);
    if (length > 20) return -1;
    memcpy(path + 6, number, length);
    memcpy(path + 6 + length, "/stat", 6);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) return -1;
    text[count] = 0;
    // `12 (any name) S 11 …`: a name may hold parentheses, and nothing behind it does.
    const char *rest = strrchr(text, ')');
    return rest != NULL && strlen(rest) > 4 ? (pid_t)atol(rest + 4) : -1;
}

// Kills the children of this process. None of them has been reaped, so that no number is another process's by now.
static inline void notify_gateway_kill_children(void) {
    DIR *processes = opendir("/proc");
    if (processes == NULL) return;
    pid_t own = getpid();
    struct dirent *entry;
    while ((entry = readdir(processes)) != NULL) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (notify_gateway_parent_of(entry->d_name) == own) kill((pid_t)atol(entry->d_name), SIGKILL);
    }
    closedir(processes);
}

// Kills all descendants and returns when there is none left. One that hangs in the kernel is waited for as long as it does.
static inline void notify_gateway_end_descendants(void) {
    long pause = 200000;
    for (;;) {
        pid_t reaped;
        do reaped = waitpid(-1, NULL, WNOHANG);
        while (reaped > 0 || (reaped < 0 && errno == EINTR));
        if (reaped < 0) return;
        notify_gateway_kill_children();
        struct timespec time = {0, pause};
        nanosleep(&time, NULL);
        if (pause < 100000000) pause *= 2;
    }
}

// Reaps the children that have ended, but not the worker: as long as it is not reaped its group is nobody else's. Whether the
// worker has ended.
static inline int notify_gateway_reap_orphans(pid_t worker) {
    for (;;) {
        siginfo_t ended;
        ended.si_pid = 0;
        // The worker first: it would hide others behind it.
        if (waitid(P_PID, (id_t)worker, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == worker) return 1;
        ended.si_pid = 0;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return 0;
        if (ended.si_pid != worker) waitpid(ended.si_pid, NULL, 0);
    }
}

// Splits this process, which must have one thread, in two. Returns 0 in the worker, in a session of its own, and never in the
// guardian; -1 and errno where no worker could be started.
static inline int notify_gateway_guard_worker(int socket) {
    pid_t guardian = getpid();
    sigset_t all, none, watched;
    sigfillset(&all);
    sigemptyset(&none);
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, NOTIFY_GATEWAY_END_WORKER);
    // A service manager that ends all of a service at once must not end the guardian before its worker.
    if (sigprocmask(SIG_SETMASK, &all, NULL) != 0) return -1;
    int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return -1;
    prctl(PR_SET_PDEATHSIG, NOTIFY_GATEWAY_END_WORKER, 0, 0, 0);
    pid_t worker = fork();
    if (worker < 0) return -1;
    if (worker == 0) {
        close(signals);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() == guardian) return 0;
        _exit(1);
    }
    struct pollfd events[2] = {{signals, POLLIN, 0}, {socket, POLLRDHUP, 0}};
    int is_over = 0;
    while (!is_over) {
        poll(events, 2, -1);
        // The other end is closed, or the gateway is gone and everything of it.
        if (events[1].revents != 0) is_over = 1;
        struct signalfd_siginfo signal;
        while (read(signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
            if (signal.ssi_signo == NOTIFY_GATEWAY_END_WORKER) is_over = 1;
        }
        if (notify_gateway_reap_orphans(worker)) is_over = 1;
    }
    // First of all, so that nobody waits for an answer of a worker that is gone.
    close(socket);
    kill(-worker, SIGKILL);
    kill(worker, SIGKILL);
    notify_gateway_end_descendants();
    _exit(0);
}

// Stops every process that a worker started, such as those of PAM modules.
//
// The process that the gateway starts as a worker forks. The parent stays as the guardian; the child is the worker and
// serves requests. When the worker exits, or the gateway closes its end of the connection (also because it was killed),
// the guardian kills all of its descendants. The guardian is a subreaper (prctl(2)): a process whose parent has exited
// becomes its child, in any session, and is found.
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

// The signal that stops the guardian. The gateway sends it, and the kernel sends it when the thread that started the
// guardian exits.
#define NOTIFY_GATEWAY_END_WORKER SIGUSR1

// Returns the parent of a process, or -1 if there is no such process.
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
    // The format is `12 (any name) S 11 …`. The name may contain parentheses, the fields after it do not.
    const char *rest = strrchr(text, ')');
    return rest != NULL && strlen(rest) > 4 ? (pid_t)atol(rest + 4) : -1;
}

// Kills the children of this process. None of them has been reaped, so no process id has been reused.
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

// Kills all descendants and returns when none is left. Waits for a process that hangs in the kernel as long as it
// does.
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

// Reaps the exited children except the worker: while the worker is not reaped, its process group id is not reused.
// Returns whether the worker has exited.
static inline int notify_gateway_reap_orphans(pid_t worker) {
    for (;;) {
        siginfo_t ended;
        ended.si_pid = 0;
        // The worker is queried first: as an unreaped child it would hide the others.
        if (waitid(P_PID, (id_t)worker, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == worker) return 1;
        ended.si_pid = 0;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return 0;
        if (ended.si_pid != worker) waitpid(ended.si_pid, NULL, 0);
    }
}

// Forks this process, which must have one thread. Returns 0 in the worker, in a session of its own, and never in the
// guardian; -1 and errno if no worker could be started.
static inline int notify_gateway_guard_worker(int socket) {
    pid_t guardian = getpid();
    sigset_t all, none, watched;
    sigfillset(&all);
    sigemptyset(&none);
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, NOTIFY_GATEWAY_END_WORKER);
    // A service manager that signals all processes of a service must not stop the guardian before its worker.
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
        // The other end is closed, or the gateway is gone.
        if (events[1].revents != 0) is_over = 1;
        struct signalfd_siginfo signal;
        while (read(signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
            if (signal.ssi_signo == NOTIFY_GATEWAY_END_WORKER) is_over = 1;
        }
        if (notify_gateway_reap_orphans(worker)) is_over = 1;
    }
    // Closed first, so that no caller waits for a response of a stopped worker.
    close(socket);
    kill(-worker, SIGKILL);
    kill(worker, SIGKILL);
    notify_gateway_end_descendants();
    _exit(0);
}

// Makes a client of TCP connect to a Unix socket: loaded with LD_PRELOAD, replaces the socket of each connection to the TCP port
// UNIX_CONNECT_PORT by one that is connected to UNIX_CONNECT_PATH. All other calls are those of the client, so that measurements over
// TCP and over Unix sockets have the same client. TCP_NODELAY then fails with EOPNOTSUPP, which clients ignore.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef int (*connect_function)(int, const struct sockaddr *, socklen_t);

static int fail(int replacement, int error) {
    close(replacement);
    errno = error;
    return -1;
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    connect_function real = (connect_function)dlsym(RTLD_NEXT, "connect");
    const char *port = getenv("UNIX_CONNECT_PORT"), *path = getenv("UNIX_CONNECT_PATH");
    if (!port || !path || address->sa_family != AF_INET || length < sizeof(struct sockaddr_in)
        || ntohs(((const struct sockaddr_in *)address)->sin_port) != atoi(port)) {
        return real(fd, address, length);
    }
    struct sockaddr_un target = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof target.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(target.sun_path, path);
    int replacement = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (replacement < 0) return -1;
    // The socket becomes non-blocking only after it is connected: a non-blocking one would fail while the listener's queue is full.
    if (real(replacement, (const struct sockaddr *)&target, sizeof target) != 0) return fail(replacement, errno);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(replacement, F_SETFL, flags) != 0) return fail(replacement, errno);
    if (dup2(replacement, fd) < 0) return fail(replacement, errno);
    close(replacement);
    return 0;
}

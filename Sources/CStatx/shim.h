// statx(2), which Swift's Glibc module lacks.
#pragma once
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

// Gets the identity and length of a file, without its times. Returns 0, or -1 with errno set.
//
// A call that returns times, such as lstat, makes Linux (6.13 and later, ext4, XFS, Btrfs) give the next write to the file a new
// time of modification. On ext4 each synchronized write then stores the inode too.
//
// With an empty path the file is that of the descriptor. Otherwise the descriptor is ignored, and a symbolic link is not followed.
static inline int notify_gateway_file_identity(
    int descriptor, const char *path, unsigned long long *device, unsigned long long *inode, unsigned long long *size) {
    struct statx status;
    int flags = AT_SYMLINK_NOFOLLOW | (path[0] == 0 ? AT_EMPTY_PATH : 0);
    long done = syscall(SYS_statx, path[0] == 0 ? descriptor : AT_FDCWD, path, flags, STATX_INO | STATX_SIZE, &status);
    if (done != 0) return -1;
    *device = makedev(status.stx_dev_major, status.stx_dev_minor);
    *inode = status.stx_ino;
    *size = status.stx_size;
    return 0;
}

internal import CPAM
internal import Foundation

/// The state of a file, which differs after each change of the file.
struct FileState: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: [Int]
    /// The time of the last change of the file or of its owner and mode. No program can set it.
    private let changed: timespec
    let mode: mode_t

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        changed = status.st_ctim
        mode = status.st_mode
    }

    /// Reads the state of the file at the path; nil if there is none.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    var isRegular: Bool { mode & S_IFMT == S_IFREG }
    /// Whether users other than the owner can write.
    var isWritableByOthers: Bool { mode & (S_IWGRP | S_IWOTH) != 0 }

    /// Whether a change from now on would differ from the last one. Two changes between two ticks of the kernel's clock
    /// have the same time.
    var isSettled: Bool {
        var now = timespec()
        guard clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 else { return true }
        // A time that is far ahead comes from the clock of a file server, about which nothing is known.
        if changed.tv_sec > now.tv_sec + 1 { return true }
        return (now.tv_sec, now.tv_nsec) > (changed.tv_sec, changed.tv_nsec)
    }

    static func == (left: Self, right: Self) -> Bool {
        left.device == right.device && left.inode == right.inode && left.size == right.size
            && left.modified == right.modified && left.mode == right.mode
            && left.changed.tv_sec == right.changed.tv_sec && left.changed.tv_nsec == right.changed.tv_nsec
    }
}

internal import Glibc

/// A system call on a file that failed, or a file that is not as it must be.
struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was tried, where, and what the system says of it.
    let description: String
    /// The system's error number; 0 where no system call failed.
    let code: CInt

    /// Whether the file is not there.
    var isMissing: Bool { code == ENOENT }

    /// A failure of the call that set `errno` last.
    init(_ operation: String, _ path: String, code: CInt = errno) {
        description = "\(operation) \(path): \(String(cString: strerror(code)))"
        self.code = code
    }

    /// A file that is there and cannot be used.
    init(unfit path: String, _ reason: String) {
        description = "\(path) \(reason)"
        code = 0
    }
}

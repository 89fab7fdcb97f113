internal import Glibc

/// A failed system call on a file, or a file that does not meet the requirements.
struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation, the path and the system's message.
    let description: String
    /// The system's error number; 0 if no system call failed.
    let code: CInt

    /// Whether the file does not exist.
    var isMissing: Bool { code == ENOENT }

    /// Creates a failure from the system call that set `errno` last.
    init(_ operation: String, _ path: String, code: CInt = errno) {
        description = "\(operation) \(path): \(String(cString: strerror(code)))"
        self.code = code
    }

    /// Creates a failure for an existing file that cannot be used.
    init(unfit path: String, _ reason: String) {
        description = "\(path) \(reason)"
        code = 0
    }
}

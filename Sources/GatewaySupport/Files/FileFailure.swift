internal import Glibc

/// A failed system call on a file, or a file that does not meet the requirements.
package struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation, the path and the system's message.
    package let description: String
    /// The system's error number; 0 if no system call failed.
    package let code: CInt

    /// Whether the file does not exist.
    package var isMissing: Bool { code == ENOENT }

    /// The system's message without the operation and the path.
    var systemMessage: String { String(cString: strerror(code)) }

    /// Creates a failure from the system call that set `errno` last.
    package init(_ operation: String, _ path: String, code: CInt = errno) {
        description = "\(operation) \(path): \(String(cString: strerror(code)))"
        self.code = code
    }

    /// Creates a failure for an existing file that cannot be used.
    package init(unfit path: String, _ reason: String) {
        description = "\(path) \(reason)"
        code = 0
    }
}

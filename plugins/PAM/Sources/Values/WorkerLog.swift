internal import Foundation

/// The messages of the program as a worker and as a worker service.
enum WorkerLog {
    /// Writes a line to standard error, for operators and the system's log. A worker process has `/dev/null` there.
    static func write(_ message: String) {
        FileHandle.standardError.write(Data("notify-gateway pam-worker: \(message)\n".utf8))
    }
}

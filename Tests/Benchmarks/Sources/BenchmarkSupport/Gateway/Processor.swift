import Foundation

/// The assignment of processors: the gateway has some exclusively, and the measuring process has the others.
package enum Processor {
    private static let count = sysconf(CInt(_SC_NPROCESSORS_ONLN))

    /// The gateway's processors in the format of taskset(1); nil if the machine has only one.
    package static var first: String? { count > 1 ? "0" : nil }

    /// Restricts the threads of this process, and the threads that they start later, to the last processor.
    package static func leaveTheFirst() throws {
        guard count > 1 else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: taskset)
        process.arguments = ["--all-tasks", "--cpu-list", "--pid", "\(count - 1)", "\(getpid())"]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw NotPinned() }
    }

    /// The taskset program of util-linux, which every Debian system has.
    static let taskset = "/usr/bin/taskset"

    private struct NotPinned: Error {}
}

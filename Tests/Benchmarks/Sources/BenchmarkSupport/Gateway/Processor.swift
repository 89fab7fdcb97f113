import Foundation

/// Which processors work for whom: what is measured has some to itself, and what measures has the others.
package enum Processor {
    private static let count = sysconf(CInt(_SC_NPROCESSORS_ONLN))

    /// What the gateway is given, as taskset(1) takes it; nil where there is one only.
    package static var first: String? { count > 1 ? "0" : nil }

    /// Has the threads that this process has, and all that they start from now on, run on the last processor alone.
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

    /// The program of util-linux, which every Debian has.
    static let taskset = "/usr/bin/taskset"

    private struct NotPinned: Error {}
}

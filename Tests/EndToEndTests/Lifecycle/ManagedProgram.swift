import Foundation
import GatewayTesting

/// A `notify-gateway serve` process that is started as by a service manager, with a notify socket and a listening
/// socket.
final class ManagedProgram: Sendable {
    let process: Int32
    private let statuses: AsyncStream<Int32>

    private init(process: Int32, statuses: AsyncStream<Int32>) {
        self.process = process
        self.statuses = statuses
    }

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - socket: the listening socket that the process inherits as descriptor 3; nil for none.
    ///   - environment: additional environment variables.
    static func start(
        in directory: TestFiles, socket: CInt? = nil, environment: [String: String] = [:]
    ) throws -> ManagedProgram {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        // sd_listen_fds(3) requires descriptor 3 and the process id in LISTEN_PID.
        let passing = socket == nil ? "" : "LISTEN_PID=$$; export LISTEN_PID; exec 3<&0; "
        process.arguments = [
            "-c", "\(passing)exec 0</dev/null; exec \"$0\" serve --config gateway.yaml", Program.path,
        ]
        process.currentDirectoryURL = URL(filePath: directory.path)
        process.environment = environment.merging(TestRun.sanitizerOptions) { own, _ in own }.merging(
            ["PATH": "/usr/bin:/bin", "LISTEN_FDS": socket == nil ? "0" : "1"]) { own, _ in own }
        process.standardInput = socket.map { FileHandle(fileDescriptor: $0) } ?? FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let log = "\(directory.path)/log"
        if !FileManager.default.fileExists(atPath: log) { try directory.write("", to: "log") }
        let writing = try FileHandle(forWritingTo: URL(filePath: log))
        try writing.seekToEnd()
        process.standardError = writing
        let (statuses, status) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = {
            status.yield($0.terminationStatus)
            status.finish()
        }
        try process.run()
        return ManagedProgram(process: process.processIdentifier, statuses: statuses)
    }

    /// Sends a signal to the process.
    func signal(_ signal: Int32) { kill(process, signal) }

    /// Waits until the process exits and returns its exit status.
    func status() async -> Int32? {
        for await status in statuses { return status }
        return nil
    }
}

/// A listening socket that a service inherits. It keeps listening while the service does not run.
final class ListeningSocket: Sendable {
    let descriptor: CInt

    init(path: String) throws {
        descriptor = try NotifySocket.bound(to: path, SOCK_STREAM)
        guard listen(descriptor, 512) == 0 else { throw NotifySocket.Failure(code: errno) }
    }

    deinit { close(descriptor) }
}

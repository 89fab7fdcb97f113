import Foundation
import GatewayTesting

/// `notify-gateway serve` as a service manager starts it: with a notify socket, and with a socket that listens already.
final class ManagedProgram: Sendable {
    let process: Int32
    private let statuses: AsyncStream<Int32>

    private init(process: Int32, statuses: AsyncStream<Int32>) {
        self.process = process
        self.statuses = statuses
    }

    /// Starts it.
    ///
    /// - Parameters:
    ///   - socket: a listening socket that it is passed as the first; nil for none.
    ///   - environment: what it is told besides.
    static func start(
        in directory: TestFiles, socket: CInt? = nil, environment: [String: String] = [:]
    ) throws -> ManagedProgram {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        // The descriptor and the process id are those that sd_listen_fds(3) wants.
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

    /// Sends it a signal.
    func signal(_ signal: Int32) { kill(process, signal) }

    /// The status that it ended with.
    func status() async -> Int32? {
        for await status in statuses { return status }
        return nil
    }
}

/// A socket that listens for a service, and goes on listening while that is not there.
final class ListeningSocket: Sendable {
    let descriptor: CInt

    init(path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard descriptor >= 0, isBound, listen(descriptor, 512) == 0 else { throw NotifySocket.Failure(code: errno) }
    }

    deinit { close(descriptor) }
}

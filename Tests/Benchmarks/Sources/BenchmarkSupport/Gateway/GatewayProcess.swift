package import Foundation

/// A ready `notify-gateway serve` process.
package final class GatewayProcess {
    /// The error for a gateway that does not start or cannot be measured.
    package struct Failure: Error, CustomStringConvertible {
        /// The cause, with the gateway's log.
        package let description: String
    }

    /// The process id.
    package let pid: pid_t
    /// The time from the start of the process until it was ready.
    package let startup: Duration
    /// The port on 127.0.0.1 that it serves.
    package let port: Int
    private let process: Process

    /// The path of the program that `swift build --configuration release --product notify-gateway` builds.
    package static let builtProgram = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent(".build/release/notify-gateway").path

    /// Starts the gateway and waits until it is ready.
    ///
    /// - Parameters:
    ///   - processors: the processors that it may run on, in the format of taskset(1); nil for all.
    ///   - maximumWait: the longest time until it is ready.
    package init(
        _ program: String, _ setup: GatewaySetup, processors: String? = nil, maximumWait: Duration = .seconds(120)
    ) throws {
        let log = "\(setup.directory)/log"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw Failure(
                description: "\(program) is not an executable file; build it, or pass another program with --program")
        }
        guard FileManager.default.createFile(atPath: log, contents: nil), let output = FileHandle(forWritingAtPath: log)
        else { throw Failure(description: "cannot write \(log)") }
        let command = [program, "serve", "--config", try setup.write()]
        let pinned = processors.map { [Processor.taskset, "--cpu-list", $0] + command } ?? command
        process = Process()
        process.executableURL = URL(fileURLWithPath: pinned[0])
        process.arguments = Array(pinned.dropFirst())
        process.standardOutput = output
        process.standardError = output
        let clock = ContinuousClock()
        let began = clock.now
        try process.run()
        pid = process.processIdentifier
        port = setup.port
        while !HealthCheck.isReady(port: setup.adminPort) {
            guard process.isRunning, clock.now - began < maximumWait else {
                process.terminate()
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw Failure(description: "the gateway did not start:\n\(text)")
            }
            usleep(500)
        }
        startup = clock.now - began
    }

    deinit { stop() }

    /// Stops the gateway with SIGTERM and waits until it has exited.
    package func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    /// The processor time of its threads so far.
    package var processorTime: Duration {
        var id = clockid_t()
        var reading = timespec()
        guard clock_getcpuclockid(pid, &id) == 0, clock_gettime(id, &reading) == 0 else { return .zero }
        return .seconds(reading.tv_sec) + .nanoseconds(reading.tv_nsec)
    }

    /// The resident memory in bytes.
    package var residentBytes: Int {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (line.split(separator: " ").dropFirst().first { Int($0) != nil }.flatMap { Int($0) } ?? 0) * 1024
    }

    /// Waits until the gateway is idle, because its work after the start is not part of a call.
    ///
    /// - Parameter quiet: the time for which it must be idle. The gateway updates the journal's index once a minute:
    ///   after very many calls, wait for longer than that.
    package func waitUntilIdle(for quiet: Duration = .milliseconds(500)) async throws {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(600)
        var quietSince = clock.now
        while clock.now < end, clock.now - quietSince < quiet {
            let before = processorTime
            try await Task.sleep(for: .milliseconds(500))
            if processorTime - before >= .milliseconds(10) { quietSince = clock.now }
        }
    }
}

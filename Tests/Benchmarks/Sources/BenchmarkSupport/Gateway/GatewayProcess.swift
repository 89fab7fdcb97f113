package import Foundation

/// `notify-gateway serve` as a process of its own, from the time that it is ready to its end.
package final class GatewayProcess {
    /// Why there is none, or none that can be measured.
    package struct Failure: Error, CustomStringConvertible {
        /// What is wrong, with what the gateway logged.
        package let description: String
    }

    /// Its number.
    package let pid: pid_t
    /// How long it took from its start until it said that it is ready.
    package let startup: Duration
    /// The port that it serves on, of 127.0.0.1.
    package let port: Int
    private let process: Process

    /// Where the program is that is built by `swift build --configuration release --product notify-gateway`.
    package static let builtProgram = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent(".build/release/notify-gateway").path

    /// Starts it and waits until it is ready.
    ///
    /// - Parameters:
    ///   - processors: those that it may run on, as taskset(1) takes them; nil for all.
    ///   - patience: how long it may take.
    package init(
        _ program: String, _ setup: GatewaySetup, processors: String? = nil, patience: Duration = .seconds(120)
    ) throws {
        let log = "\(setup.directory)/log"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw Failure(description: "\(program) is no program; build it, or name another by --program")
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
            guard process.isRunning, clock.now - began < patience else {
                process.terminate()
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw Failure(description: "the gateway does not start:\n\(text)")
            }
            usleep(500)
        }
        startup = clock.now - began
    }

    deinit { stop() }

    /// Ends it as an operator would, and waits for that.
    package func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    /// What its threads have computed so far.
    package var processorTime: Duration {
        var id = clockid_t()
        var reading = timespec()
        guard clock_getcpuclockid(pid, &id) == 0, clock_gettime(id, &reading) == 0 else { return .zero }
        return .seconds(reading.tv_sec) + .nanoseconds(reading.tv_nsec)
    }

    /// What of its memory is in the machine's, in bytes.
    package var residentBytes: Int {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (line.split(separator: " ").dropFirst().first { Int($0) != nil }.flatMap { Int($0) } ?? 0) * 1024
    }

    /// Returns once it computes next to nothing: what it does after its start is no part of a call.
    ///
    /// - Parameter quiet: for how long. It looks once a minute what of the journal its index lacks: after very many calls it is at
    ///   rest when it has been so for longer.
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

public import Logging
public import NotifyBackend
internal import ServiceLifecycle
internal import UnixSignals

/// A run of the embedded backend alone, until SIGTERM or SIGINT.
public struct EmbeddedBackendRun: Sendable {
    private let backend: EmbeddedBackend
    private let logger: Logger

    /// Creates a run of one backend.
    public init(_ backend: EmbeddedBackend, logger: Logger) {
        self.backend = backend
        self.logger = logger
    }

    /// Runs until a signal stops it.
    public func run() async throws {
        defer { LogWriter.standardError.flush() }
        try await ServiceGroup(
            configuration: .init(named: [backend], stoppedBy: [.sigterm, .sigint], logger: logger)
        ).run()
    }
}

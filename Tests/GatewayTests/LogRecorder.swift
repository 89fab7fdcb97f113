import Logging
import Synchronization

/// A recorder of log lines.
final class LogRecorder: Sendable {
    struct Line: Sendable {
        let message: String
        let metadata: [String: String]
    }

    private let recorded = Mutex<[Line]>([])

    /// The recorded lines, in order.
    var lines: [Line] { recorded.withLock { $0 } }

    /// A logger that records here, at every level.
    var logger: Logger { Logger(label: "test") { [self] _ in Handler(recorder: self) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = (event.metadata ?? [:]).mapValues(\.description)
            recorder.recorded.withLock { $0.append(Line(message: "\(event.message)", metadata: metadata)) }
        }
    }
}

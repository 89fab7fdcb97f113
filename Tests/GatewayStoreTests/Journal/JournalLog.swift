import GatewayTesting
import Logging

/// Collects log messages, and lets tests wait for one.
final class JournalLog: Sendable {
    private let recorded = AwaitableValue<[(level: Logger.Level, text: String)]>([])

    /// Returns the messages of the level, each with its metadata.
    func lines(_ level: Logger.Level) -> [String] {
        recorded.current.filter { $0.level == level }.map(\.text)
    }

    /// Returns once a message that contains the text was logged.
    func waitFor(_ text: String) async { await recorded.wait { $0.contains { $0.text.contains(text) } } }

    /// Returns once the condition holds; checks it at each message.
    func wait(until isMet: @escaping @Sendable () -> Bool) async { await recorded.wait { _ in isMet() } }

    fileprivate func add(_ level: Logger.Level, _ text: String) { recorded.withLock { $0.append((level, text)) } }

    var handler: any LogHandler { Handler(log: self) }

    private struct Handler: LogHandler {
        let log: JournalLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
            log.add(event.level, "\(event.message) \(metadata)")
        }
    }
}

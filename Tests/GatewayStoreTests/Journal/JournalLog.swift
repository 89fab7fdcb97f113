import Logging
import Synchronization

/// Collects log messages, and lets tests wait for one.
final class JournalLog: Sendable {
    private struct State {
        var lines: [(level: Logger.Level, text: String)] = []
        var waiters: [(text: String, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Returns the messages of the level, each with its metadata.
    func lines(_ level: Logger.Level) -> [String] {
        state.withLock { state in state.lines.filter { $0.level == level }.map(\.text) }
    }

    /// Returns once a message that contains the text was logged.
    func waitFor(_ text: String) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.lines.contains(where: { $0.text.contains(text) }) { return true }
                state.waiters.append((text, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    fileprivate func add(_ level: Logger.Level, _ text: String) {
        let told = state.withLock { state in
            state.lines.append((level, text))
            let told = state.waiters.filter { text.contains($0.text) }
            state.waiters.removeAll { text.contains($0.text) }
            return told
        }
        for waiter in told { waiter.continuation.resume() }
    }

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

internal import Foundation
internal import Logging
internal import Synchronization

/// Writes log lines to standard error on its own thread, so that a slow terminal or a full pipe never delays a call.
///
/// If more than 1 MiB is pending, further lines are dropped and their number is logged.
final class LogWriter: Sendable {
    private struct Pending {
        var bytes: [UInt8] = []
        var dropped = 0
    }

    /// The maximum number of pending bytes.
    private static let bound = 1 << 20

    private let pending = Mutex(Pending())
    // Held from dequeueing lines until they are written, so `flush` waits for lines that another thread has dequeued.
    private let writing = Mutex(())
    private let signal = DispatchSemaphore(value: 0)
    private let descriptor: Int32
    private let threshold = Atomic(LogWriter.levels.firstIndex(of: .info) ?? 0)
    private static let levels = Logger.Level.allCases

    /// The minimum level of handlers without a level of their own. It may change at any time.
    var level: Logger.Level {
        get { Self.levels[threshold.load(ordering: .relaxed)] }
        // `levels` contains every level.
        set { threshold.store(Self.levels.firstIndex(of: newValue) ?? 0, ordering: .relaxed) }
    }

    /// The only writer of the process.
    static let standardError = LogWriter(descriptor: 2)

    init(descriptor: Int32) {
        self.descriptor = descriptor
        let thread = Thread { [self] in
            while true {
                signal.wait()
                writeQueued()
            }
        }
        thread.name = "log"
        thread.start()
    }

    /// Queues a line, which includes its line feed.
    func write(_ line: [UInt8]) {
        pending.withLock { pending in
            if pending.bytes.count + line.count > Self.bound {
                pending.dropped += 1
            } else {
                pending.bytes += line
            }
        }
        signal.signal()
    }

    /// Writes all pending lines. Called before the process exits.
    ///
    /// - Parameter maximumWait: The maximum time to wait. A full pipe whose reader has stopped must not keep the process
    ///   from exiting; the pending lines are lost then.
    func flush(within maximumWait: DispatchTimeInterval = .seconds(2)) {
        let isDone = DispatchSemaphore(value: 0)
        let thread = Thread { [self] in
            writeQueued()
            isDone.signal()
        }
        thread.name = "log flush"
        thread.start()
        _ = isDone.wait(timeout: .now() + maximumWait)
    }

    private func writeQueued() { writing.withLock { _ in writePending() } }

    private func writePending() {
        let taken = pending.withLock { pending in
            let taken = pending
            pending = Pending()
            return taken
        }
        var bytes = taken.bytes
        if taken.dropped > 0 { bytes += "\(taken.dropped) log lines were dropped\n".utf8 }
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 && errno == EINTR { continue }
            // Standard error has no reader, so the failure cannot be reported.
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }
}

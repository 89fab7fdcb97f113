internal import Foundation
internal import Logging
internal import Synchronization

/// Writes log lines to standard error on a thread of its own, so that a slow terminal or a full pipe never holds a call up.
///
/// What comes faster than it can be written is dropped beyond a bound, and the number of dropped lines is said.
final class LogWriter: Sendable {
    private struct Pending {
        var bytes: [UInt8] = []
        var dropped = 0
    }

    /// The most bytes that wait to be written.
    private static let bound = 1 << 20

    private let pending = Mutex(Pending())
    // Held from taking lines until they are written, so that whoever flushes returns after what another thread had taken.
    private let writing = Mutex(())
    private let signal = DispatchSemaphore(value: 0)
    private let descriptor: Int32
    private let threshold = Atomic(LogWriter.levels.firstIndex(of: .info) ?? 0)
    private static let levels = Logger.Level.allCases

    /// The least level of lines that handlers without one of their own write here; may change at any time.
    var level: Logger.Level {
        get { Self.levels[threshold.load(ordering: .relaxed)] }
        // Every level is among all.
        set { threshold.store(Self.levels.firstIndex(of: newValue) ?? 0, ordering: .relaxed) }
    }

    /// The one writer of the process.
    static let standardError = LogWriter(descriptor: 2)

    init(descriptor: Int32) {
        self.descriptor = descriptor
        let thread = Thread { [self] in
            while true {
                signal.wait()
                flush()
            }
        }
        thread.name = "log"
        thread.start()
    }

    /// Takes a line, its line feed included.
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

    /// Writes all that waits, on the caller's thread; for the end of the process.
    func flush() { writing.withLock { _ in writePending() } }

    private func writePending() {
        let taken = pending.withLock { pending in
            let taken = pending
            pending = Pending()
            return taken
        }
        var bytes = taken.bytes
        if taken.dropped > 0 { bytes += "\(taken.dropped) lines of the log were dropped\n".utf8 }
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 && errno == EINTR { continue }
            // Nobody reads: there is no place left to say so.
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }
}

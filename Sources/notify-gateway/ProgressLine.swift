import Foundation

/// On a terminal, a line that says how far something is, once that has taken a second.
struct ProgressLine {
    private let title: String
    private let began = ContinuousClock.now
    private let isShown = isatty(STDERR_FILENO) == 1
    private var shown: Int?

    init(_ title: String) { self.title = title }

    /// Says how far it is, where that has changed by a hundredth.
    mutating func show(_ done: UInt64, of all: UInt64) {
        guard isShown, all > 0, ContinuousClock.now - began > .seconds(1) else { return }
        let percent = Int(Double(done) / Double(all) * 100)
        guard percent != shown else { return }
        shown = percent
        FileHandle.standardError.write(Data("\r\(title) \(percent) %".utf8))
    }

    /// Leaves the line.
    mutating func end() {
        guard shown != nil else { return }
        shown = nil
        FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
    }
}

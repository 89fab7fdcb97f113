import Foundation

/// A progress line on a terminal, shown after one second.
struct ProgressLine {
    private let title: String
    private let began = ContinuousClock.now
    private let isShown = isatty(STDERR_FILENO) == 1
    private var shown: Int?

    init(_ title: String) { self.title = title }

    /// Updates the line if the percentage has changed.
    mutating func show(_ done: UInt64, of all: UInt64) {
        guard isShown, all > 0, ContinuousClock.now - began > .seconds(1) else { return }
        let percent = Int(Double(done) / Double(all) * 100)
        guard percent != shown else { return }
        shown = percent
        FileHandle.standardError.write(Data("\r\(title) \(percent) %".utf8))
    }

    /// Clears the line.
    mutating func end() {
        guard shown != nil else { return }
        shown = nil
        FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
    }
}

internal import GatewayCore
internal import Glibc

/// The segments that are no longer written, each as it was left. Belongs to the writer's thread.
///
/// Finds the lines that are lost because somebody deleted, replaced or cut one of them while the gateway runs.
struct ClosedSegments {
    /// A range of line numbers that a segment held and no longer holds.
    struct Loss: Sendable, Hashable {
        var lines: ClosedRange<UInt64>
        /// The segments concerned and what happened to them, for the log.
        var what: String

        /// Returns the losses in the order of their lines, those that touch or overlap as one.
        static func joined(_ losses: [Loss]) -> [Loss] {
            var joined: [Loss] = []
            for loss in losses.sorted(by: { $0.lines.lowerBound < $1.lines.lowerBound }) {
                if let last = joined.last, loss.lines.lowerBound <= last.lines.upperBound + 1 {
                    let end = max(last.lines.upperBound, loss.lines.upperBound)
                    joined[joined.count - 1] = Loss(
                        lines: last.lines.lowerBound...end, what: "\(last.what); \(loss.what)")
                } else {
                    joined.append(loss)
                }
            }
            return joined
        }
    }

    private struct Segment {
        var identity: FileIdentity
        var last: UInt64
        /// Whether it was found damaged when it was closed, so that its bytes have to be read.
        var isSuspect = false
    }

    private let directory: String
    private let files: any JournalFileSystem
    private var segments: [JournalSegmentName: Segment] = [:]

    init(directory: String, files: any JournalFileSystem) {
        self.directory = directory
        self.files = files
    }

    /// The bytes of all of them together.
    var bytes: UInt64 { segments.values.reduce(0) { $0 + $1.identity.size } }

    /// Adds the segments that are in the directory when the journal is opened.
    ///
    /// - Parameter next: The number of the line that the journal goes on with.
    mutating func addExisting(before next: UInt64) throws(FileFailure) {
        let names = try files.names(in: directory).compactMap { JournalSegmentName($0) }.sorted()
            .filter { $0.first < next }
        for (index, name) in names.enumerated() {
            let end = index + 1 < names.count ? names[index + 1].first : next
            segments[name] = Segment(identity: try files.identity(path(name)), last: end - 1)
        }
    }

    /// Adds a segment that is not written any more. One without lines is left out.
    mutating func add(_ segment: JournalSegment, before next: UInt64, isSuspect: Bool = false) {
        guard segment.name.first < next else { return }
        segments[segment.name] = Segment(identity: segment.written, last: next - 1, isSuspect: isSuspect)
    }

    /// Forgets a segment that retention removed.
    mutating func remove(_ name: JournalSegmentName) { segments[name] = nil }

    /// Compares every segment with the file at its path, and returns the lines that are lost since the last time, in order.
    ///
    /// Each loss is returned once.
    mutating func findLosses() -> [Loss] {
        var losses: [Loss] = []
        for (name, segment) in segments.sorted(by: { $0.key < $1.key }) {
            let damage = SegmentDamage(of: path(name), as: segment.identity, files: files)
            guard damage != nil || segment.isSuspect else { continue }
            // A directory that cannot be searched for a moment is no loss.
            if case .unreachable = damage { continue }
            let kept: UInt64?
            do throws(FileFailure) {
                kept = try lastLine(of: name, through: segment.last)
            } catch {
                // A file that cannot be read for a moment is no loss either.
                if error.code != ENOENT { continue }
                kept = nil
            }
            if let kept, let identity = try? files.identity(path(name)) {
                segments[name] = Segment(identity: identity, last: kept)
            } else {
                segments[name] = nil
            }
            let first = kept.map { $0 + 1 } ?? name.first
            guard first <= segment.last else { continue }
            let what = "\(name.text) \(damage?.description ?? "was truncated")"
            losses.append(Loss(lines: first...segment.last, what: what))
        }
        return Loss.joined(losses)
    }

    /// The number of the last line that follows from the segment's first line without a gap; nil where there is none.
    private func lastLine(of name: JournalSegmentName, through last: UInt64) throws(FileFailure) -> UInt64? {
        let bytes = try files.read(path(name))
        var end = 0
        var found: (number: UInt64, hash: [UInt8])?
        while let feed = ChainCheck.endOfLine(in: bytes, from: end) {
            let line = JournalLineReader(bytes: bytes[end..<feed])
            guard let number = line.sequence, number == (found.map { $0.number + 1 } ?? name.first), number <= last,
                let hash = line.verifiedHash, found.map({ line.previous == $0.hash }) ?? true
            else { break }
            found = (number, hash.hexDigits)
            end = feed + 1
        }
        return found?.number
    }

    private func path(_ name: JournalSegmentName) -> String { "\(directory)/\(name.text)" }
}

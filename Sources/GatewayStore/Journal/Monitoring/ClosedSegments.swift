internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// The segments that are no longer written, in the state in which they were closed. Confined to the writer's thread.
///
/// Detects lines that are lost because a segment was deleted, replaced or truncated while the gateway runs.
struct ClosedSegments {
    /// A range of lines that a segment contained and no longer contains.
    struct Loss: Sendable, Hashable {
        var lines: ClosedRange<UInt64>
        /// The affected segments and what happened to them, for the log.
        var what: String

        /// Sorts the losses by line and merges those that overlap or adjoin.
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
        /// The file, with the size that was written.
        var identity: FileIdentity
        var last: UInt64
        /// Whether the segment was damaged when it was closed, so that its content must be checked.
        var isSuspect = false
        /// The largest size of the file that its writer explains; a larger file has grown.
        var maximumSize: UInt64
        /// Whether it is known what was written. The size of a segment from before the start is only what was found then.
        var isConfirmed = true
    }

    let directory: String
    let measurements = SegmentMeasurements()
    let files: any JournalFileSystem
    private var segments: [JournalSegmentName: Segment] = [:]

    init(directory: String, files: any JournalFileSystem) {
        self.directory = directory
        self.files = files
    }

    /// The total size of the segments in bytes, as they were written: what others append does not count.
    var bytes: UInt64 { segments.values.lazy.map(\.identity.size).saturatingSum }

    /// The segments in ascending order.
    var names: [JournalSegmentName] { segments.keys.sorted() }

    /// Returns the size of a segment in bytes, as it was written; 0 for an unknown one.
    func size(of name: JournalSegmentName) -> UInt64 { segments[name]?.identity.size ?? 0 }

    /// Adds the segments found in the directory when the journal is opened.
    ///
    /// - Parameter next: The number of the journal's next line.
    mutating func addExisting(before next: UInt64) throws(FileFailure) {
        let names = JournalSegmentName.segments(among: try files.fileNames(in: directory))
            .filter { $0.first < next }
        for (index, name) in names.enumerated() {
            let end = index + 1 < names.count ? names[index + 1].first : next
            let identity = try files.identity(path(name))
            segments[name] = Segment(
                identity: identity, last: end - 1, maximumSize: identity.size, isConfirmed: false)
        }
    }

    /// Adds a segment that was closed. Skips one without lines.
    mutating func add(_ segment: JournalSegment, before next: UInt64, isSuspect: Bool = false) {
        guard segment.name.first < next else { return }
        // The file was truncated to its lines, unless writing or truncating it failed.
        let found = (try? files.identity(path(segment.name)))?.size
        let isExact = found == segment.written.size
        segments[segment.name] = Segment(
            identity: segment.written, last: next - 1, isSuspect: isSuspect,
            maximumSize: isExact ? segment.written.size : segment.maximumSize)
    }

    /// The largest size of a segment's file that its writer explains; nil for an unknown segment.
    func maximumSize(of name: JournalSegmentName) -> UInt64? { segments[name]?.maximumSize }

    /// Whether it is known of all segments how much was written.
    var areConfirmed: Bool { segments.values.allSatisfy(\.isConfirmed) }

    /// Whether it is known how much was written into the segment.
    func isConfirmed(_ name: JournalSegmentName) -> Bool { segments[name]?.isConfirmed ?? false }

    /// Declares that the segment's file is what was written, of which at most so many bytes count.
    mutating func confirm(_ name: JournalSegmentName, atMost bytes: UInt64) {
        guard var segment = segments[name] else { return }
        let (identity, size) = (segment.identity, min(segment.identity.size, bytes))
        segment.identity = FileIdentity(device: identity.device, inode: identity.inode, size: size)
        segment.isConfirmed = true
        segments[name] = segment
    }

    /// Removes a segment that retention deleted.
    mutating func remove(_ name: JournalSegmentName) { segments[name] = nil }

    /// Compares each segment with the file at its path. Returns the lines lost since the last call, in order; each loss
    /// is returned once.
    mutating func findLosses() -> [Loss] {
        var losses: [Loss] = []
        for (name, segment) in segments.sorted(by: { $0.key < $1.key }) {
            let damage = SegmentDamage(of: path(name), as: segment.identity, files: files)
            guard damage != nil || segment.isSuspect else { continue }
            // A directory that is temporarily inaccessible is not a loss.
            if case .unreachable = damage { continue }
            let kept: UInt64?
            do throws(FileFailure) {
                kept = try lastLine(of: name, through: segment.last)
            } catch {
                // A file that is temporarily unreadable is not a loss either.
                if error.code != ENOENT { continue }
                kept = nil
            }
            if let kept, let identity = try? files.identity(path(name)) {
                segments[name] = Segment(identity: identity, last: kept, maximumSize: identity.size, isConfirmed: false)
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

    /// Returns the number of the last line that the chain connects with the segment's first line; nil if the first line
    /// is missing.
    private func lastLine(of name: JournalSegmentName, through last: UInt64) throws(FileFailure) -> UInt64? {
        SegmentChain(of: try files.read(path(name)), from: name.first, through: last).last
    }

    func path(_ name: JournalSegmentName) -> String { "\(directory)/\(name.text)" }
}

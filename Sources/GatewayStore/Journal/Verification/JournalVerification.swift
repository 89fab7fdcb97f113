internal import GatewayCore
public import GatewaySupport
internal import Glibc

/// Reads a journal from its first line to its last and finds the first deviation from what was written.
///
/// - The hash chain shows a changed, missing, added, duplicated or moved line, with its number.
/// - The next checkpoint shows lines that were changed and rehashed up to the end, because its signature covers the old
///   hash. The finding names the lines since the previous checkpoint. For a shorter rehashed run the chain breaks, and
///   the finding names the run's last line.
/// - Lines after the journal's last checkpoint may be truncated or rehashed unnoticed, unless a checkpoint stored
///   outside the journal covers them.
public struct JournalVerification: Sendable {
    /// The journal's directory.
    public var directory: String
    /// The keys that may have signed. Without keys, checkpoints are neither required nor checked.
    public var keys: [Ed25519.PublicKey]
    /// The checkpoint copies; nil if they are not compared.
    public var copies: CheckpointCopies?
    /// The checkpoint in the ledger, read before the verification; nil if it is not compared.
    public var known: StoredCheckpoint?
    /// The last line of the journal's copy in the shared store, read before the verification; nil if it is not compared.
    public var copied: CopyHead?
    /// The segments, if they are not only those in the directory.
    package var source: (any SegmentSource)?
    /// Whether a gateway is writing the journal. The journal may then end with an incomplete line.
    public var isBeingWritten = false

    private static let attempts = 3
    private static let pauseMicroseconds: UInt32 = 20_000

    /// Creates a verification of the journal in the directory.
    public init(directory: String, keys: [Ed25519.PublicKey], copies: CheckpointCopies? = nil) {
        self.directory = directory
        self.keys = keys
        self.copies = copies
    }

    /// The first problem in a journal.
    public struct Finding: Sendable, Hashable {
        /// The number of the first affected line; 0 for a problem that is not about a line.
        public let number: UInt64
        /// The number of the last line that may be affected.
        public let through: UInt64
        /// The problem, as a sentence without a full stop.
        public let what: String

        init(_ number: UInt64, through: UInt64? = nil, _ what: String) {
            self.number = number
            self.through = max(number, through ?? number)
            self.what = what
        }
    }

    /// The result of a verification.
    public struct Report: Sendable, Hashable {
        /// The number of the first existing line; 0 without lines.
        public internal(set) var first: UInt64 = 0
        /// The number of the last valid line; 0 without one.
        public internal(set) var last: UInt64 = 0
        /// The number of valid lines.
        public internal(set) var lines: UInt64 = 0
        /// The number of segments read.
        public internal(set) var segments = 0
        /// The time of the first valid line.
        public internal(set) var firstTime: WallTime?
        /// The time of the last valid line.
        public internal(set) var lastTime: WallTime?
        /// The number of valid checkpoints.
        public internal(set) var checkpoints = 0
        /// The number of the last line that a valid checkpoint covers; 0 without one.
        public internal(set) var signedThrough: UInt64 = 0
        /// The number of checkpoint copies that match the journal.
        public internal(set) var copiesSeen = 0
        /// The number of the last line that retention removed according to a signed line; 0 if it removed none.
        public internal(set) var retiredThrough: UInt64 = 0
        /// The lost lines that the gateway itself recorded as lost.
        public internal(set) var losses: [Loss] = []
        /// The ends of other nodes' journals that the journal records, up to the last valid line.
        public internal(set) var nodeHeads = RecordedHeads()
        /// Whether the journal has no problem and no recorded loss.
        public var isGood: Bool { finding == nil && losses.isEmpty }
        /// The first problem; nil without one.
        public internal(set) var finding: Finding?
    }

    /// Lost lines that the gateway detected and recorded.
    public struct Loss: Sendable, Hashable, CustomStringConvertible {
        /// The kind of a loss.
        public enum Kind: Sendable, Hashable {
            /// The lines are missing.
            case missing
            /// The line differs from the checkpoint in the ledger, or is missing.
            case another
        }

        /// The kind of the loss.
        public let kind: Kind
        /// The numbers of the lost lines.
        public let lines: ClosedRange<UInt64>
        /// The number of the line that records the loss.
        public let recordedIn: UInt64
        /// The time of that line, in RFC 3339.
        public let time: String

        init(_ kind: Kind, _ lines: ClosedRange<UInt64>, recordedIn number: UInt64, at time: String) {
            self.kind = kind
            self.lines = lines
            recordedIn = number
            self.time = time
        }

        /// The loss as a clause without a full stop.
        public var description: String {
            switch kind {
            case .missing where lines.lowerBound == lines.upperBound: "line \(lines.lowerBound) is missing"
            case .missing: "lines \(lines.lowerBound) to \(lines.upperBound) are missing"
            case .another: "line \(lines.lowerBound) did not match the checkpoint in the ledger"
            }
        }
    }

    /// The error thrown if the journal cannot be read.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The failed operation and the system's message.
        public let description: String
    }

    /// Reads the whole journal and blocks for that time; intended for commands.
    ///
    /// - Parameter progress: Receives the bytes read so far and the total, before each segment and at the end.
    public func run(progress: (UInt64, UInt64) -> Void = { _, _ in }) throws(Failure) -> Report {
        // If the ledger or the store knows lines, a missing directory counts as a journal without lines.
        let isKnown = known != nil || copied != nil
        let source = source ?? DirectorySegments(directory: directory, allowsMissingDirectory: isKnown)
        do throws(FileFailure) {
            let segments = try source.names()
            var sizes: [UInt64] = []
            for segment in segments { sizes.append(try source.size(of: segment) ?? 0) }
            // A file can have any length without taking space.
            let readSizes = sizes.map { min($0, JournalSegment.maximumBytes) }
            let total = readSizes.saturatingSum
            var copies = copies ?? CheckpointCopies()
            if let known { copies.add(known) }
            if let copied { copies.add(copied) }
            var check = ChainCheck(keys: keys, copies: copies)
            var done: UInt64 = 0
            following: for (index, segment) in segments.enumerated() {
                progress(done, total)
                let next = index + 1 < segments.count ? segments[index + 1] : nil
                let isGrowing = next == nil && isBeingWritten
                let before = check
                // A read during a write may return partial lines. A finding that persists is real.
                for attempt in 1...(isGrowing ? Self.attempts : 1) {
                    if attempt > 1 { usleep(Self.pauseMicroseconds) }
                    check = before
                    if sizes[index] > JournalSegment.maximumBytes {
                        check.reject(segment, "the segment has \(sizes[index]) bytes, more than any that is written")
                        break following
                    }
                    guard let bytes = try source.bytes(of: segment) else {
                        // Retention removes the oldest segments first. If all earlier segments are gone too, the
                        // journal begins after this one. Otherwise the next segment shows the gap.
                        var isBeginning = true
                        for before in segments[..<index] where try source.size(of: before) != nil {
                            isBeginning = false
                        }
                        if isBeginning { check = ChainCheck(keys: keys, copies: copies) }
                        continue following
                    }
                    check.checkSegment(bytes, of: segment, before: next, mayEndWithinLine: isGrowing)
                    if check.report.finding == nil { break }
                }
                done = done.addingSaturating(readSizes[index])
                if check.report.finding != nil { break }
            }
            progress(total, total)
            return check.finish(foreign: try source.foreignNames())
        } catch {
            throw Failure(description: error.description)
        }
    }
}

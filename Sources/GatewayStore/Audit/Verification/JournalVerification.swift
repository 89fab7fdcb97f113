public import GatewayCore
internal import Glibc

/// Reads a journal from its first line to its last and finds the first thing that is not as it was written.
///
/// What is found by what: a changed byte, and a line that is missing, put in, doubled or moved, by the chain of hashes, at its
/// number. Lines that were changed and hashed anew up to the end (re-chaining) by the next checkpoint, whose signature is over
/// the old hash: somewhere since the checkpoint before. A shorter run that was hashed anew is named by its last line. Lines at the
/// end that were cut off or re-chained since the last checkpoint: by a checkpoint in the second place that covers them, and by
/// nothing else.
public struct JournalVerification: Sendable {
    /// The journal's directory.
    public var directory: String
    /// The keys that may have signed; checkpoints are not asked for where there are none.
    public var keys: [Ed25519.PublicKey]
    /// What the second place holds; nil where it is not looked at.
    public var copies: CheckpointCopies?
    /// The checkpoint that the ledger had before the verification began; nil where it is not looked at.
    public var known: KnownCheckpoint?
    /// Whether the journal is being written: then it may end within a line.
    public var isBeingWritten = false

    private static let attempts = 3
    private static let pauseMicroseconds: UInt32 = 20_000

    /// A verification of the journal in the directory.
    public init(directory: String, keys: [Ed25519.PublicKey], copies: CheckpointCopies? = nil) {
        self.directory = directory
        self.keys = keys
        self.copies = copies
    }

    /// The first thing that is wrong.
    public struct Finding: Sendable, Hashable {
        /// The number of the first line concerned.
        public let number: UInt64
        /// The last line that it may be, where it is one of several.
        public let through: UInt64
        /// What is wrong, as a sentence.
        public let what: String

        init(_ number: UInt64, through: UInt64? = nil, _ what: String) {
            self.number = number
            self.through = max(number, through ?? number)
            self.what = what
        }
    }

    /// What was found.
    public struct Report: Sendable, Hashable {
        /// The number of the first line that is there; 0 where there is none.
        public internal(set) var first: UInt64 = 0
        /// The number of the last line that was good; 0 where there is none.
        public internal(set) var last: UInt64 = 0
        /// How many lines were good.
        public internal(set) var lines: UInt64 = 0
        /// How many segments they lie in.
        public internal(set) var segments = 0
        /// When the first of them was written.
        public internal(set) var firstTime: WallTime?
        /// When the last of them was written.
        public internal(set) var lastTime: WallTime?
        /// How many checkpoints were good.
        public internal(set) var checkpoints = 0
        /// The number of the last line that a good checkpoint covers; 0 where there is none.
        public internal(set) var signedThrough: UInt64 = 0
        /// How many checkpoints of the second place the journal agrees with.
        public internal(set) var copiesSeen = 0
        /// The number of the last line that retention removed, as a signed line says; 0 where it removed none.
        public internal(set) var retiredThrough: UInt64 = 0
        /// The lines that are lost, and of which the gateway itself recorded that.
        public internal(set) var losses: [Loss] = []
        /// Whether nothing is wrong and nothing is lost.
        public var isGood: Bool { finding == nil && losses.isEmpty }
        /// The first thing that is wrong; nil where nothing is.
        public internal(set) var finding: Finding?
    }

    /// Lines that are lost, as the gateway recorded when it noticed.
    public struct Loss: Sendable, Hashable, CustomStringConvertible {
        /// What is wrong with lines.
        public enum Kind: Sendable, Hashable {
            /// They are missing.
            case missing
            /// Another line was in the place of one that the ledger knew, or none.
            case another
        }

        /// What is wrong with them.
        public let kind: Kind
        /// The lines' numbers.
        public let lines: ClosedRange<UInt64>
        /// The number of the line that says so.
        public let recordedIn: UInt64
        /// When that line was written, in RFC 3339.
        public let time: String

        init(_ kind: Kind, _ lines: ClosedRange<UInt64>, recordedIn number: UInt64, at time: String) {
            self.kind = kind
            self.lines = lines
            recordedIn = number
            self.time = time
        }

        /// What is wrong with them, as the beginning of a sentence.
        public var description: String {
            switch kind {
            case .missing where lines.count == 1: "line \(lines.lowerBound) is missing"
            case .missing: "lines \(lines.lowerBound) to \(lines.upperBound) are missing"
            case .another: "line \(lines.lowerBound) was not the one that the ledger knew"
            }
        }
    }

    /// The journal cannot be read.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What was tried, and what the system says of it.
        public let description: String
    }

    /// A directory that is gone is a journal without lines where the ledger knows of some.
    private func segments(_ files: SystemFileSystem) throws(FileFailure) -> [JournalSegmentName] {
        do throws(FileFailure) {
            return try files.names(in: directory).compactMap { JournalSegmentName($0) }.sorted()
        } catch {
            if error.code == ENOENT, known != nil { return [] }
            throw error
        }
    }

    /// Reads everything. Blocks for as long as the disk takes; for commands.
    ///
    /// - Parameter progress: Told now and then how many bytes of how many have been read.
    public func run(progress: (UInt64, UInt64) -> Void = { _, _ in }) throws(Failure) -> Report {
        let files = SystemFileSystem()
        do throws(FileFailure) {
            let segments = try segments(files)
            var sizes: [UInt64] = []
            for segment in segments { sizes.append(try size(of: segment, files)) }
            let total = sizes.reduce(0, +)
            var copies = copies ?? CheckpointCopies()
            if let known { copies.add(known) }
            var check = ChainCheck(keys: keys, copies: copies)
            var done: UInt64 = 0
            following: for (index, segment) in segments.enumerated() {
                progress(done, total)
                let next = index + 1 < segments.count ? segments[index + 1] : nil
                let isGrowing = next == nil && isBeingWritten
                let before = check
                // Lines that are written while they are read may be seen in part; what is wrong with them stays.
                for attempt in 1...(isGrowing ? Self.attempts : 1) {
                    if attempt > 1 { usleep(Self.pauseMicroseconds) }
                    check = before
                    guard let bytes = try bytes(of: segment, files) else {
                        // Retention removes the oldest first: where all before it are gone too, the journal begins behind it.
                        // Otherwise the next segment shows the gap.
                        var isBeginning = true
                        for before in segments[..<index] where try isPresent(before, files) { isBeginning = false }
                        if isBeginning { check = ChainCheck(keys: keys, copies: copies) }
                        continue following
                    }
                    check.take(bytes, of: segment, before: next, mayEndWithinLine: isGrowing)
                    if check.report.finding == nil { break }
                }
                done += sizes[index]
                if check.report.finding != nil { break }
            }
            progress(total, total)
            return check.finish()
        } catch {
            throw Failure(description: error.description)
        }
    }

    private func bytes(of segment: JournalSegmentName, _ files: SystemFileSystem) throws(FileFailure) -> [UInt8]? {
        do throws(FileFailure) {
            return try files.read("\(directory)/\(segment.text)")
        } catch  where error.isMissing {
            return nil
        }
    }

    private func size(of segment: JournalSegmentName, _ files: SystemFileSystem) throws(FileFailure) -> UInt64 {
        do throws(FileFailure) {
            return try files.size("\(directory)/\(segment.text)")
        } catch  where error.isMissing {
            return 0
        }
    }

    private func isPresent(_ segment: JournalSegmentName, _ files: SystemFileSystem) throws(FileFailure) -> Bool {
        do throws(FileFailure) {
            _ = try files.size("\(directory)/\(segment.text)")
            return true
        } catch  where error.isMissing {
            return false
        }
    }
}

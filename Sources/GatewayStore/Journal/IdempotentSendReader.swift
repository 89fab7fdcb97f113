package import GatewayCore
package import GatewaySupport

extension JournalFile {
    /// Passes on the sends with an idempotency key that the journal in the directory recorded since the time: each with its last
    /// outcome, and then those without all outcomes. Blocks; called after a start.
    ///
    /// Reads only segments that changed since the time, in parts, and parses only lines with an idempotency key.
    ///
    /// - Parameters:
    ///   - now: The present time. A later one, of a clock that was ahead, makes no line after it newer.
    ///   - indexed: The indexes of closed segments, which list these lines; nil to read the segments themselves.
    ///   - checkStop: Called before each part. Throws to end the read.
    ///   - found: Called with each send.
    /// - Returns: The numbers of lines that the journal lacks between its segments.
    /// - Throws: `JournalUnavailable` if the journal cannot be read, and what `checkStop` and `found` throw.
    @discardableResult
    package static func readKeyedSends(
        in directory: String, since: WallTime, now: WallTime = WallTime(microseconds: .max),
        indexed: (any IndexedSegments)? = nil, checkStop: () throws -> Void = {},
        _ found: (IdempotentSend) throws -> Void
    ) throws -> [ClosedRange<UInt64>] {
        let files = SystemFileSystem()
        var sends = IdempotentSendReader(since: since, now: now)
        // A clock that is set back lets no line of before count as old.
        var newest = WallTime(microseconds: 0)
        var missing: [ClosedRange<UInt64>] = []
        do {
            let segments = JournalSegmentName.segments(among: try files.fileNames(in: directory))
            for (index, segment) in segments.enumerated() {
                let path = directory + "/" + segment.text
                // Skip the lines of a failed write at the end of a segment: the next segment reuses their numbers.
                let end = index + 1 < segments.count ? segments[index + 1].first : nil
                try checkStop()
                do {
                    let modified = try files.modificationTime(of: path)
                    if modified <= now { newest = max(newest, modified) }
                    guard max(newest, modified) >= since else { continue }
                    if let end, let index = indexed?.segment(first: segment.first, before: end),
                        let lines = try? index.keyedLines(atMost: IdempotentSendReader.maximumIndexedLines)
                    {
                        for line in lines { try sends.add(JournalLineReader(bytes: line[...]), found) }
                    } else {
                        let last = try sends.read(
                            path, LineOrder(from: segment.first, before: end), checkStop, found)
                        let next = last.map { $0 + 1 } ?? segment.first
                        if let end, next < end { missing.append(next...end - 1) }
                    }
                } catch let error as FileFailure where error.isMissing {
                    // A running gateway may remove old segments at any time.
                    continue
                }
            }
        } catch let error as FileFailure {
            throw JournalUnavailable(error.description)
        }
        for send in sends.incomplete { try found(send) }
        return missing
    }
}

/// Collects the sends from their `intent`, `outcome` and `rejection` lines. Holds only those that lack an outcome.
struct IdempotentSendReader {
    private struct Call: Hashable {
        let id: String
        let key: KeyedDigest
    }

    fileprivate struct Parts {
        let number: Int
        let user: UserName
        let target: String
        let service: PushService
        let message: KeyedDigest
        let at: WallTime
        var results: [CallResult] = []
        var skipped = 0
        var intents = 0
    }

    /// The number of lines of a segment up to which each is read by itself. A segment has some 100,000 lines.
    static let maximumIndexedLines = 4096
    /// The length of the parts in which a segment is read, in bytes. No line with an idempotency key is longer.
    private static let partLength = 1 << 20

    private let since: WallTime
    private let now: WallTime
    /// The latest time of the lines so far. The time of a send is not before it, because the clock may have been set back.
    private var latest = WallTime(microseconds: 0)
    private var calls: [Call: Parts] = [:]
    private var lastNumber = 0

    /// The start of the member that holds the idempotency key.
    private static let member = Array(",\"idempotency\":\"".utf8)

    init(since: WallTime, now: WallTime = WallTime(microseconds: .max)) {
        self.since = since
        self.now = now
    }

    /// The sends with an intent that lack an outcome, in the order of their first lines.
    var incomplete: [IdempotentSend] {
        calls.filter { $0.value.intents > 0 }.sorted { $0.value.number < $1.value.number }
            .map { IdempotentSend($0.key.key, $0.value) }
    }

    /// Reads the lines of a segment that count.
    ///
    /// - Returns: The number of the segment's last line; nil if no line has one.
    mutating func read(
        _ path: String, _ order: LineOrder, _ checkStop: () throws -> Void,
        _ found: (IdempotentSend) throws -> Void
    ) throws -> UInt64? {
        let file = try SegmentReader(path)
        defer { file.close() }
        var (order, offset) = (order, 0)
        var last: UInt64?
        while true {
            try checkStop()
            var bytes = try file.read(from: offset, count: Self.partLength)[...]
            if bytes.isEmpty { return last }
            // The last line of a part continues in the next one.
            if bytes.count == Self.partLength, let end = bytes.lastIndex(of: UInt8(ascii: "\n")) {
                bytes = bytes[...end]
            }
            offset += bytes.count
            try read(bytes, &order, found)
            last = Self.lastNumber(in: bytes) ?? last
        }
    }

    /// Returns the number of the last line that has one: a failed write may have left something after it.
    private static func lastNumber(in bytes: ArraySlice<UInt8>) -> UInt64? {
        var rest = bytes
        while let end = rest.lastIndex(of: UInt8(ascii: "\n")) {
            rest = rest[..<end]
            let start = rest.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.startIndex
            if start < end, let number = JournalLineReader(bytes: rest[start...]).sequence { return number }
        }
        return nil
    }

    /// Reads the lines that count. Searches for those with an idempotency key.
    mutating func read(
        _ bytes: ArraySlice<UInt8>, _ order: inout LineOrder, _ found: (IdempotentSend) throws -> Void
    ) rethrows {
        var offset = bytes.startIndex
        while let hit = Self.next(in: bytes, from: offset) {
            let start = bytes[..<hit].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.startIndex
            let stop = bytes[hit...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
            offset = stop
            let line = JournalLineReader(bytes: bytes[start..<stop])
            guard let number = line.sequence, order.accepts(number) else { continue }
            try add(line, found)
        }
    }

    /// Adds a line, and passes on the send whose last outcome it is. Ignores a line without an idempotency key. All intents of a
    /// call precede its outcomes.
    mutating func add(_ line: JournalLineReader, _ found: (IdempotentSend) throws -> Void) rethrows {
        guard let kind = line.kind, let time = line.time else { return }
        let at = max(time, latest)
        if time <= now { latest = at }
        guard at > since, let id = line.text("call"), let key = digest(line, "idempotency") else { return }
        let call = Call(id: id, key: key)
        switch kind {
        case .intent:
            guard var parts = calls[call] ?? parts(of: line, at) else { return }
            parts.intents += 1
            calls[call] = parts
        case .outcome:
            guard let result = line.text("result").flatMap(CallResult.init) else { return }
            calls[call]?.results.append(result)
            guard let parts = calls[call], parts.results.count == parts.intents else { return }
            calls[call] = nil
            try found(IdempotentSend(key, parts))
        case .rejection: calls[call]?.skipped += 1
        case .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired, .nodeHead: break
        }
    }

    /// Returns what the first line of a call says about the send.
    private mutating func parts(of line: JournalLineReader, _ at: WallTime) -> Parts? {
        guard let user = line.text("user").flatMap({ UserName(canonical: $0) }),
            let service = line.text("pns").flatMap(PushService.init), let message = digest(line, "digest"),
            let target = line.text("audience").map({ AudienceName.prefix + $0 }) ?? line.text("recipient")
        else { return nil }
        lastNumber += 1
        return Parts(number: lastNumber, user: user, target: target, service: service, message: message, at: at)
    }

    private func digest(_ line: JournalLineReader, _ name: StaticString) -> KeyedDigest? {
        line.bytes(of: name).flatMap { KeyedDigest(hexDigits: $0) }
    }

    /// The shift table of a Boyer-Moore-Horspool search for ``member``. The search skips most bytes of a journal,
    /// because few lines have the member.
    private static let shifts: [Int] = {
        var shifts = [Int](repeating: member.count, count: 256)
        for (index, byte) in member.dropLast().enumerated() { shifts[Int(byte)] = member.count - 1 - index }
        return shifts
    }()

    /// Returns the index of the next occurrence of ``member``.
    private static func next(in bytes: ArraySlice<UInt8>, from offset: Int) -> Int? {
        let (first, last) = (bytes.startIndex, member.count - 1)
        return bytes.withUnsafeBufferPointer { bytes in
            var end = offset - first + last
            while end < bytes.count {
                if bytes[end] == member[last], bytes[(end - last)...end].elementsEqual(member) {
                    return first + end - last
                }
                end += shifts[Int(bytes[end])]
            }
            return nil
        }
    }
}

extension IdempotentSend {
    fileprivate init(_ key: KeyedDigest, _ parts: IdempotentSendReader.Parts) {
        self.init(
            user: parts.user, target: parts.target, service: parts.service, key: key, message: parts.message,
            at: parts.at, results: parts.results, skipped: parts.skipped, intents: parts.intents)
    }
}

package import GatewayCore
package import GatewaySupport

extension JournalFile {
    /// Returns the sends with an idempotency key that the journal in the directory recorded since the time, oldest
    /// first. Blocks; called at startup.
    ///
    /// Reads only segments that changed since the time, and parses only lines with an idempotency key.
    ///
    /// - Parameters:
    ///   - bounds: The maximum numbers of sends; the newest ones are returned.
    ///   - now: The present time. A later one, of a clock that was ahead, makes no line after it newer.
    ///   - indexed: The indexes of closed segments, which list these lines; nil to read the segments themselves.
    package static func keyedSends(
        in directory: String, since: WallTime, bounds: KeyedSendBounds = KeyedSendBounds(),
        now: WallTime = WallTime(microseconds: .max), indexed: (any IndexedSegments)? = nil
    ) throws(JournalUnavailable) -> [IdempotentSend] {
        let files = SystemFileSystem()
        var sends = IdempotentSendReader(since: since, bounds: bounds, now: now)
        // A clock that is set back lets no line of before count as old.
        var newest = WallTime(microseconds: 0)
        do throws(FileFailure) {
            let segments = JournalSegmentName.segments(among: try files.fileNames(in: directory))
            for (index, segment) in segments.enumerated() {
                let path = directory + "/" + segment.text
                // Skip the lines of a failed write at the end of a segment: the next segment reuses their numbers.
                let end = index + 1 < segments.count ? segments[index + 1].first : nil
                do throws(FileFailure) {
                    let modified = try files.modificationTime(of: path)
                    if modified <= now { newest = max(newest, modified) }
                    guard max(newest, modified) >= since else { continue }
                    if let end, let index = indexed?.segment(first: segment.first, before: end),
                        let lines = try? index.keyedLines(atMost: IdempotentSendReader.maximumIndexedLines)
                    {
                        for line in lines { sends.add(JournalLineReader(bytes: line[...])) }
                    } else {
                        sends.read(try files.read(path), LineOrder(from: segment.first, before: end))
                    }
                } catch  where error.isMissing {
                    // A running gateway may remove old segments at any time.
                    continue
                }
            }
        } catch {
            throw JournalUnavailable(error.description)
        }
        return sends.all
    }
}

/// The maximum numbers of sends with an idempotency key that a start restores.
package struct KeyedSendBounds: Sendable {
    /// The maximum number in total.
    let total: Int
    /// The maximum number of one user.
    let perUser: Int

    /// Creates bounds, by default none.
    package init(total: Int = .max, perUser: Int = .max) {
        self.total = total
        self.perUser = perUser
    }
}

/// Collects the sends from their `intent`, `outcome` and `rejection` lines.
struct IdempotentSendReader {
    private struct Call: Hashable {
        let id: String
        let key: KeyedDigest
    }

    private struct Parts {
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

    private let since: WallTime
    private let bounds: KeyedSendBounds
    private let now: WallTime
    /// The latest time of the lines so far. The time of a send is not before it, because the clock may have been set back.
    private var latest = WallTime(microseconds: 0)
    private var calls: [Call: Parts] = [:]
    private var order: [Call] = []

    /// The start of the member that holds the idempotency key.
    private static let member = Array(",\"idempotency\":\"".utf8)

    init(
        since: WallTime, bounds: KeyedSendBounds = KeyedSendBounds(), now: WallTime = WallTime(microseconds: .max)
    ) {
        self.since = since
        self.bounds = bounds
        self.now = now
    }

    /// The newest sends with an intent, in the order of their first lines.
    var all: [IdempotentSend] {
        newest(of: order.filter { calls[$0]?.intents ?? 0 > 0 }).compactMap { call in
            guard let parts = calls[call] else { return nil }
            return IdempotentSend(
                user: parts.user, target: parts.target, service: parts.service, key: call.key,
                message: parts.message, at: parts.at, results: parts.results, skipped: parts.skipped,
                intents: parts.intents)
        }
    }

    /// Reads the lines of a segment that count.
    mutating func read(_ bytes: [UInt8], _ order: LineOrder) {
        var order = order
        var offset = 0
        while let hit = Self.next(in: bytes, from: offset) {
            let start = bytes[..<hit].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let stop = bytes[hit...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
            offset = stop
            let line = JournalLineReader(bytes: bytes[start..<stop])
            guard let number = line.sequence, order.accepts(number) else { continue }
            add(line)
        }
    }

    /// Adds a line; ignores one without an idempotency key.
    mutating func add(_ line: JournalLineReader) {
        guard let kind = line.kind, let time = line.time else { return }
        let at = max(time, latest)
        if time <= now { latest = at }
        guard at > since, let id = line.text("call"), let key = digest(line, "idempotency") else { return }
        let call = Call(id: id, key: key)
        if calls[call] == nil {
            guard kind != .replay, let parts = parts(of: line, at) else { return }
            calls[call] = parts
            order.append(call)
            forgetOldest()
        }
        switch kind {
        case .intent: calls[call]?.intents += 1
        case .outcome: calls[call]?.results += line.text("result").flatMap(CallResult.init).map { [$0] } ?? []
        case .rejection: calls[call]?.skipped += 1
        case .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired, .nodeHead: break
        }
    }

    /// Returns what the first line of a call says about the send.
    private func parts(of line: JournalLineReader, _ at: WallTime) -> Parts? {
        guard let user = line.text("user").flatMap({ UserName(canonical: $0) }),
            let service = line.text("pns").flatMap(PushService.init), let message = digest(line, "digest"),
            let target = line.text("audience").map({ AudienceName.prefix + $0 }) ?? line.text("recipient")
        else { return nil }
        return Parts(user: user, target: target, service: service, message: message, at: at)
    }

    /// Forgets the oldest calls when there are twice as many as are returned.
    private mutating func forgetOldest() {
        guard order.count / 2 >= bounds.total else { return }
        let kept = newest(of: order)
        let isKept = Set(kept)
        for call in order where !isKept.contains(call) { calls[call] = nil }
        order = kept
    }

    /// Returns the newest of the calls within the bounds, in their order. A user with many does not displace others, and calls
    /// that certainly sent nothing displace none.
    private func newest(of order: [Call]) -> [Call] {
        if order.count <= min(bounds.total, bounds.perUser) { return order }
        var counts: [UserName: Int] = [:]
        var kept: [Call] = []
        for call in order.reversed() where kept.count < bounds.total {
            guard let parts = calls[call], counts[parts.user, default: 0] < bounds.perUser,
                parts.intents == 0 || !parts.results.areWithoutEffect(of: parts.intents)
            else { continue }
            counts[parts.user, default: 0] += 1
            kept.append(call)
        }
        return kept.reversed()
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
    private static func next(in bytes: [UInt8], from offset: Int) -> Int? {
        let last = member.count - 1
        return bytes.withUnsafeBufferPointer { bytes in
            var end = offset + last
            while end < bytes.count {
                if bytes[end] == member[last], bytes[(end - last)...end].elementsEqual(member) { return end - last }
                end += shifts[Int(bytes[end])]
            }
            return nil
        }
    }
}

extension [CallResult] {
    /// Whether the backend certainly carried out none of the sends with so many intents, so that their key is free.
    func areWithoutEffect(of intents: Int) -> Bool {
        count == intents
            && allSatisfy { result in
                switch result {
                case .backendUnreachable, .overloaded, .textsUnavailable, .ledgerUnavailable, .revoked: true
                default: false
                }
            }
    }
}

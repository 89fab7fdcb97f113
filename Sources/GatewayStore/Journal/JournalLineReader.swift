internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// A reader of one journal line as found on disk, without its line feed.
///
/// Members are found by their position: inside a text the quotation mark of `,"name":` would be escaped, so that
/// pattern is always a member. Callers that must not read a changed line check ``verifiedHash`` first.
struct JournalLineReader {
    let bytes: ArraySlice<UInt8>

    private static let start = Array("{\"seq\":".utf8)
    /// The suffix of a line: `,"hash":"`, 64 digits, `"}`.
    private static let hashMember = Array(",\"hash\":\"".utf8)
    private static let end = Array("\"}".utf8)
    private static let tailLength = hashMember.count + 64 + end.count

    /// The line's hash; nil if it does not match the line's bytes.
    var verifiedHash: SHA256.Digest? {
        guard bytes.count > Self.tailLength, bytes.first == UInt8(ascii: "{") else { return nil }
        let body = bytes.dropLast(Self.tailLength)
        let tail = bytes.suffix(Self.tailLength)
        guard tail.starts(with: Self.hashMember), tail.suffix(Self.end.count).elementsEqual(Self.end),
            let digest = body.withUnsafeBytes(SHA256.Digest.init(of:)),
            tail.dropFirst(Self.hashMember.count).prefix(64).elementsEqual(digest.hexDigits)
        else { return nil }
        return digest
    }

    /// The line's number (``LineNumber``).
    var sequence: UInt64? {
        guard bytes.starts(with: Self.start) else { return nil }
        return lineNumber(at: bytes.startIndex + Self.start.count)
    }

    /// The time at which the line was written.
    var time: WallTime? { text("at").flatMap { WallTime(rfc3339: $0) } }

    /// The line's kind; nil if it is unknown.
    var kind: JournalRecord.Kind? { text("kind").flatMap { JournalRecord.Kind(rawValue: $0) } }

    /// The member's text in its escaped form; nil if the member is missing.
    func text(_ name: StaticString) -> String? { bytes(of: name).map { String(decoding: $0, as: UTF8.self) } }

    /// The bytes of the member's text in its escaped form; nil if the member is missing.
    func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
        guard let start = bytes.endOfMemberName(name), start < bytes.endIndex, bytes[start] == UInt8(ascii: "\"")
        else { return nil }
        let rest = bytes[(start + 1)...]
        return rest.firstIndex(of: UInt8(ascii: "\"")).map { rest[..<$0] }
    }

    /// The member's integer; nil if the member is missing.
    func number(_ name: StaticString) -> UInt64? {
        guard let start = bytes.endOfMemberName(name) else { return nil }
        let digits = bytes[start...].prefix { (0x30...0x39).contains($0) }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }

    /// The number of a line in the member (``LineNumber``); nil if the member is missing.
    func lineNumber(_ name: StaticString) -> UInt64? { bytes.endOfMemberName(name).flatMap(lineNumber(at:)) }

    private func lineNumber(at index: Int) -> UInt64? {
        bytes.withUnsafeBytes { buffer in
            var offset = index - bytes.startIndex
            guard let number = LineNumber.read(buffer, at: &offset, before: buffer.count), offset < buffer.count,
                buffer[offset] == UInt8(ascii: ",")
            else { return nil }
            return number.value
        }
    }

    /// The hash of the previous line, from the member `prev`.
    var previous: [UInt8]? { bytes(of: "prev").map { Array($0) } }

    /// The statement in a `checkpoint` or `retired` line; nil for other lines. The signature is not checked.
    var statement: SignedStatement? {
        guard let kind = text("kind").flatMap({ JournalStatement.Kind(rawValue: $0) }),
            let through = lineNumber("through"),
            let head = text("head"), head.utf8.count == 64, let time = text("at"), let keyID = text("key"),
            let signature = text("signature"), let bytes = Base64.decode(Array(signature.utf8).span, .standard)
        else { return nil }
        return SignedStatement(
            statement: JournalStatement(kind: kind, through: through, head: Array(head.utf8), time: time),
            keyID: keyID, signature: bytes)
    }

    /// Returns whether the line is an unchanged checkpoint that one of the keys signed, at its place in the chain.
    func isCheckpoint(signedBy keys: [Ed25519.PublicKey]) -> Bool {
        guard let signed = statement, signed.statement.kind == .checkpoint, let number = sequence else { return false }
        return signed.statement.through == number - 1 && signed.statement.head == previous
            && signed.isValid(under: keys) && verifiedHash != nil
    }

    /// The number of the last line of those that retention removed, if the line is an unchanged statement of that which one of
    /// the keys signed; nil for other lines.
    func retiredThrough(signedBy keys: [Ed25519.PublicKey]) -> UInt64? {
        guard let signed = statement, signed.statement.kind == .retired, let number = sequence,
            signed.statement.through < number, signed.isValid(under: keys), verifiedHash != nil
        else { return nil }
        return signed.statement.through
    }

    /// The members of an intent that its outcome copies: those between `kind` and `prev`, with the comma before the
    /// first.
    var intentMembers: [UInt8]? {
        let kind = Array(",\"kind\":\"intent\"".utf8)
        let end = Array(",\"prev\":\"".utf8)
        guard let start = index(of: kind), let stop = index(of: end), start + kind.count <= stop else { return nil }
        return Array(bytes[(start + kind.count)..<stop])
    }

    private func index(of pattern: [UInt8]) -> Int? { bytes.firstOccurrence(of: pattern) }
}

extension ArraySlice<UInt8> {
    /// Returns the index after the first `,"name":`; nil if the member is missing.
    func endOfMemberName(_ name: StaticString) -> Int? {
        withUnsafeBytes { bytes in
            let length = name.utf8CodeUnitCount
            let needed = length + 4
            guard let start = bytes.baseAddress else { return nil }
            var offset = 0
            while bytes.count - offset >= needed {
                let room = bytes.count - offset - needed + 1
                guard let comma = memchr(start + offset, Int32(UInt8(ascii: ",")), room) else { return nil }
                let found = UnsafeRawPointer(comma) - start
                if bytes[found + 1] == UInt8(ascii: "\""), memcmp(start + found + 2, name.utf8Start, length) == 0,
                    bytes[found + length + 2] == UInt8(ascii: "\""), bytes[found + length + 3] == UInt8(ascii: ":")
                {
                    return startIndex + found + needed
                }
                offset = found + 1
            }
            return nil
        }
    }

    /// Returns the index of the first occurrence of the pattern. Uses memchr(3) and memcmp(3), so it is fast in debug
    /// builds too.
    func firstOccurrence(of pattern: [UInt8]) -> Int? {
        guard let first = pattern.first else { return nil }
        return withUnsafeBytes { bytes in
            pattern.withUnsafeBytes { pattern in
                guard let start = bytes.baseAddress, let wanted = pattern.baseAddress else { return nil }
                var offset = 0
                while bytes.count - offset >= pattern.count {
                    let room = bytes.count - offset - pattern.count + 1
                    guard let found = memchr(start + offset, Int32(first), room) else { return nil }
                    offset = UnsafeRawPointer(found) - start
                    if memcmp(start + offset, wanted, pattern.count) == 0 { return startIndex + offset }
                    offset += 1
                }
                return nil
            }
        }
    }
}

internal import GatewayCore
internal import GatewaySupport

/// Writes the members of journal lines into a buffer. Nil values are left out. ``JournalChain`` adds the braces, the
/// number, the time and the hashes.
///
/// Callers pass each name as it appears in the line, `,"name":`, so that no string has to be built.
struct JournalLineWriter {
    /// The bytes written so far.
    var bytes: ByteWriter

    /// Appends `,"name":"word"`. The caller guarantees that the word needs no JSON escaping.
    @inline(__always)
    mutating func member(_ name: StaticString, word: String) {
        bytes.append(name)
        quote { $0.append(text: word) }
    }

    /// Appends `,"name":["word","word"]`. The caller guarantees that the words need no JSON escaping.
    mutating func member(_ name: StaticString, words: some Collection<String>) {
        list(name, words) { word, bytes in
            bytes.append(UInt8(ascii: "\""))
            bytes.append(text: word)
            bytes.append(UInt8(ascii: "\""))
        }
    }

    /// Appends `,"name":["text","text"]` with escaped texts.
    mutating func member(_ name: StaticString, texts: [String]) {
        list(name, texts) { JSONWriter.write(string: $0, to: &$1) }
    }

    /// Appends `,"name":"text"` with escaped text.
    mutating func member(_ name: StaticString, text: String?) {
        guard let text else { return }
        bytes.append(name)
        JSONWriter.write(string: text, to: &bytes)
    }

    /// Appends `,"name":number`.
    @inline(__always)
    mutating func member(_ name: StaticString, number: Int?) {
        guard let number else { return }
        bytes.append(name)
        bytes.append(decimal: number)
    }

    /// Appends the members that describe the HTTP call.
    mutating func members(of facts: CallFacts) {
        bytes.append(#","call":"#)
        quote { facts.call.write(to: &$0) }
        if let action = facts.action { member(#","action":"#, word: action.rawValue) }
        if let user = facts.user { member(#","user":"#, word: user.text) }
        member(#","attempted":"#, text: facts.attempted.map { Self.truncated($0.text, to: Self.maximumAttemptedBytes) })
        member(#","authenticator":"#, text: facts.authenticator?.text)
        member(#","peer":"#, text: facts.peer.text)
        if let recipient = facts.recipient { member(#","recipient":"#, word: recipient.text) }
        member(#","audience":"#, text: facts.audience)
        if let pns = facts.pns { member(#","pns":"#, word: pns.rawValue) }
        if let platform = facts.platform { member(#","platform":"#, word: platform.rawValue) }
        if let registration = facts.registration { member(#","registration":"#, word: registration.text) }
        if !facts.tags.isEmpty { member(#","tags":"#, words: facts.tags.lazy.map(\.text)) }
        if let session = facts.session { member(#","session":"#, word: session.text) }
        member(#","rule":"#, text: facts.rule)
        if let fence = facts.fence { member(#","fence":"#, word: fence.text) }
        if let time = facts.scheduled { member(#","scheduled":"#, word: time.description) }
        if facts.isSecure { bytes.append(#","secure":true"#) }
        if let id = facts.secureID { member(#","secure-id":"#, number: Int(id.number)) }
        if let limit = facts.limit { member(#","limit":"#, text: limit) }
        if !facts.wouldLimit.isEmpty { member(#","would-limit":"#, texts: facts.wouldLimit) }
        member(#","bytes":"#, number: facts.bytes)
        member(#","digest":"#, facts.digest)
        member(#","idempotency":"#, facts.idempotencyKey)
    }

    /// Appends the members of a record.
    mutating func members(of record: JournalRecord) {
        member(#","kind":"#, word: record.kind.rawValue)
        if let facts = record.facts { members(of: facts) }
        member(#","result":"#, text: record.result)
        member(#","reason":"#, text: record.reason)
        member(#","status":"#, number: record.status)
        member(#","ms":"#, number: record.milliseconds)
        if let notification = record.notification { member(#","notification":"#, word: notification) }
        member(#","count":"#, number: record.count)
        switch record.requester {
        case .process(let uid)?: member(#","operator":"#, number: Int(uid))
        case .user(let user, _)?: member(#","by":"#, word: user.text)
        case nil: break
        }
        member(#","target":"#, text: record.target)
        if record.kind == .start { member(#","format":"#, number: JournalEntry.format) }
    }

    /// Appends a line feed, which ends the members of one line in the buffer.
    mutating func endLine() { bytes.append(UInt8(ascii: "\n")) }

    private mutating func member(_ name: StaticString, _ digest: KeyedDigest?) {
        guard let digest else { return }
        bytes.append(name)
        quote { digest.write(to: &$0) }
    }

    /// Appends the members of a signed statement. Its time is left out, because it equals the line's `at`.
    mutating func members(of signed: SignedStatement) {
        bytes.append(#","through":"#)
        bytes.append(decimal: signed.statement.through)
        bytes.append(#","head":"#)
        quote { $0.append(signed.statement.head) }
        member(#","key":"#, word: signed.keyID)
        bytes.append(#","signature":"#)
        quote { $0.append(Base64.encode(signed.signature, .standard)) }
    }

    /// The maximum length, in bytes, of a login name that was not verified. Longer names are truncated.
    static let maximumAttemptedBytes = 64

    /// Returns the longest prefix of the text that has at most `limit` bytes and ends with a complete scalar.
    static func truncated(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
        // A continuation byte (RFC 3629) at the limit means that the cut would split a scalar. The cut moves before
        // that scalar.
        while end > text.utf8.startIndex, text.utf8[end] & 0b1100_0000 == 0b1000_0000 {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }

    @inline(__always)
    private mutating func quote(_ write: (inout ByteWriter) -> Void) {
        bytes.append(UInt8(ascii: "\""))
        write(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func list(
        _ name: StaticString, _ items: some Collection<String>, _ write: (String, inout ByteWriter) -> Void
    ) {
        bytes.append(name)
        bytes.append(UInt8(ascii: "["))
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(item, &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }
}

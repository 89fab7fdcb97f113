internal import GatewayCore

/// The bytes of a batch's lines, appended member by member. Members that are absent leave nothing behind.
struct JournalLine {
    /// What has been written.
    var bytes: [UInt8] = []

    /// Appends `,"name":"word"`. The word is one of ours and needs no escape.
    mutating func member(_ name: StaticString, word: String) {
        open(name)
        bytes.append(UInt8(ascii: "\""))
        append(word)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends `,"name":["word","word"]`. The words are within grammars of ours and need no escape.
    mutating func member(_ name: StaticString, words: [String]) {
        open(name)
        for (index, word) in words.enumerated() {
            append(index == 0 ? "[\"" : ",\"")
            append(word)
            append("\"")
        }
        append(words.isEmpty ? "[]" : "]")
    }

    /// Appends `,"name":["text","text"]` with whatever the texts hold escaped.
    mutating func member(_ name: StaticString, texts: [String]) {
        open(name)
        for (index, text) in texts.enumerated() {
            append(index == 0 ? "[" : ",")
            JSONWriter.write(string: text, to: &bytes)
        }
        append(texts.isEmpty ? "[]" : "]")
    }

    /// Appends `,"name":"text"` with whatever the text holds escaped.
    mutating func member(_ name: StaticString, text: String?) {
        guard let text else { return }
        open(name)
        JSONWriter.write(string: text, to: &bytes)
    }

    /// Appends `,"name":number`.
    mutating func member(_ name: StaticString, number: Int?) {
        guard let number else { return }
        open(name)
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        append(decimal: UInt64(number.magnitude))
    }

    /// Appends what is known of a call, in the journal's order.
    mutating func members(of facts: CallFacts) {
        open("call")
        bytes.append(UInt8(ascii: "\""))
        append(hex: facts.call.process)
        append(hex: facts.call.number)
        bytes.append(UInt8(ascii: "\""))
        if let action = facts.action { member("action", word: action.rawValue) }
        if let user = facts.user { member("user", word: user.text) }
        member("attempted", text: facts.attempted.map { Self.cut($0.text, to: Self.longestAttempted) })
        member("authenticator", text: facts.authenticator?.text)
        member("peer", text: facts.peer.text)
        if let recipient = facts.recipient { member("recipient", word: recipient.text) }
        member("audience", text: facts.audience)
        if let pns = facts.pns { member("pns", word: pns.rawValue) }
        if let platform = facts.platform { member("platform", word: platform.rawValue) }
        if let registration = facts.registration { member("registration", word: registration.text) }
        if !facts.tags.isEmpty { member("tags", words: facts.tags.map(\.text)) }
        if let session = facts.session { member("session", word: session.text) }
        member("rule", text: facts.rule)
        if !facts.wouldLimit.isEmpty { member("would-limit", texts: facts.wouldLimit) }
        member("bytes", number: facts.bytes)
        if let digest = facts.digest { member("digest", digest) }
        if let key = facts.idempotencyKey { member("idempotency", key) }
    }

    private mutating func member(_ name: StaticString, _ digest: KeyedDigest) {
        open(name)
        bytes.append(UInt8(ascii: "\""))
        append(hexOf: digest.bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a signed statement but for its time, which is the line's.
    mutating func members(of signed: SignedStatement) {
        open("through")
        append(decimal: signed.statement.through)
        open("head")
        bytes.append(UInt8(ascii: "\""))
        bytes += signed.statement.head
        bytes.append(UInt8(ascii: "\""))
        member("key", word: signed.keyID)
        open("signature")
        bytes.append(UInt8(ascii: "\""))
        bytes += Base64.encode(signed.signature, .standard)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a number in decimal digits.
    mutating func append(decimal number: UInt64) {
        var rest = number
        var digits: [20 of UInt8] = .init(repeating: 0)
        var count = 0
        repeat {
            digits[count] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
            count += 1
        } while rest > 0
        for index in stride(from: count - 1, through: 0, by: -1) { bytes.append(digits[index]) }
    }

    /// Appends each byte as two hexadecimal digits.
    mutating func append(hexOf other: [UInt8]) {
        other.withUnsafeBytes { append(hexOf: $0) }
    }

    /// Appends text of ours as it is.
    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes += $0 }
    }

    // As it lies in memory: one copy, where `+=` of the text's view goes byte by byte.
    private mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { bytes += $0 }
    }

    /// How much of an unverified name is kept, in bytes.
    static let longestAttempted = 64

    /// The longest beginning of the text that is no longer than so many bytes and ends with a whole scalar.
    static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
        // A continuation byte (RFC 3629) at the cut belongs to the scalar before it.
        while end > text.utf8.startIndex, text.utf8[end] & 0b1100_0000 == 0b1000_0000 {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }

    private mutating func open(_ name: StaticString) {
        append(",\"")
        append(name)
        append("\":")
    }

    private mutating func append(hex number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { append(hexOf: $0) }
    }

    private mutating func append(hexOf other: UnsafeRawBufferPointer) {
        var place = bytes.count
        bytes += repeatElement(0, count: 2 * other.count)
        bytes.withUnsafeMutableBufferPointer { bytes in
            for byte in other {
                (bytes[place], bytes[place + 1]) = byte.hexDigits
                place += 2
            }
        }
    }
}

/// The hub's rules for tags (contract: grammars and limits).
enum HubTag {
    /// The greatest number of tags of one registration, including the user's own.
    static let maximumPerRegistration = 60
    /// The greatest length of a tag in bytes.
    static let maximumLength = 120

    /// Whether a byte is valid in an ordinary tag.
    static func isTagByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "#"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Whether the hub accepts the text as a tag: an ordinary tag, or a system tag such as `$UserId:{bob}`.
    static func isValid(_ tag: String) -> Bool {
        let bytes = Array(tag.utf8)
        guard (1...maximumLength).contains(bytes.count) else { return false }
        return bytes.allSatisfy(isTagByte) || systemTagLength(bytes[...]) == bytes.count
    }

    /// Returns the length of a leading system tag `$Name:{value}`; nil if there is none.
    static func systemTagLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.first == UInt8(ascii: "$"), let open = bytes.firstIndex(of: UInt8(ascii: "{")),
            let close = bytes[open...].firstIndex(of: UInt8(ascii: "}")),
            bytes[bytes.index(after: bytes.startIndex)..<open].allSatisfy(isTagByte),
            bytes[bytes.index(after: open)..<close].allSatisfy(isTagByte)
        else { return nil }
        return close - bytes.startIndex + 1
    }

    /// Returns the tags as the hub stores them. They are transmitted as one comma-separated text, so a comma inside a
    /// tag splits it. Empty tags are dropped. Of tags that differ only in case, the first is kept.
    static func stored(_ tags: [String]) throws(HubFailure) -> [String] {
        var seen: Set<String> = []
        var stored: [String] = []
        for part in tags.joined(separator: ",").split(separator: ",") {
            let tag = String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
            guard !tag.isEmpty else { continue }
            guard isValid(tag) else { throw .badRequest }
            guard seen.insert(tag.lowercased()).inserted else { continue }
            guard stored.count < maximumPerRegistration else { throw .badRequest }
            stored.append(tag)
        }
        return stored
    }
}

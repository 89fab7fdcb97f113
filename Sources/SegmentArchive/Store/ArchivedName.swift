internal import GatewayStore
internal import GatewaySupport

/// The name of an object: that of its segment, or that of a segment whose object has other content.
enum ArchivedName: Sendable, Hashable {
    /// A segment under its own name.
    case segment(JournalSegmentName)
    /// A segment whose name had an object with other content: `journal-<20 digits>.conflict-<16 digits>.jsonl`. The
    /// digits after `conflict-` are the beginning of the SHA-256 of its content.
    case conflict(JournalSegmentName, String)

    /// The beginning of all names.
    static let beginning = "journal-"

    private static let marker = ".conflict-"
    private static let suffix = ".jsonl"
    private static let digits = 16

    /// Parses a name; nil if it is not one of an archive.
    init?(_ text: String) {
        if let name = JournalSegmentName(text), name.text == text {
            self = .segment(name)
            return
        }
        guard text.hasSuffix(Self.suffix), let marker = text.firstRange(of: Self.marker) else { return nil }
        let digits = text[marker.upperBound...].dropLast(Self.suffix.count)
        guard let name = JournalSegmentName(text[..<marker.lowerBound] + Self.suffix), digits.count == Self.digits,
            digits.allSatisfy({ $0.isHexDigit && !$0.isUppercase })
        else { return nil }
        self = .conflict(name, String(digits))
    }

    /// Creates the name for content that differs from the object of its segment.
    init(conflictOf segment: JournalSegmentName, _ digest: SHA256.Digest) {
        self = .conflict(segment, String(decoding: digest.hexDigits.prefix(Self.digits), as: UTF8.self))
    }

    /// The text of the name.
    var text: String {
        switch self {
        case .segment(let name): name.text
        case .conflict(let name, let digits):
            "\(name.text.dropLast(Self.suffix.count))\(Self.marker)\(digits)\(Self.suffix)"
        }
    }
}

extension NameRules {
    /// Why a name has no canonical form: for the log and for operators, since a caller is never told.
    public enum Unmapped: Error, Sendable, Hashable, CustomStringConvertible {
        /// Nothing is left of the name once prefix and suffix are stripped.
        case empty
        /// It has more than 111 bytes, escapes included.
        case tooLong
        /// It holds a character that no tag can hold, and is not escaped.
        case foreign(Unicode.Scalar)

        /// A sentence without any byte of the name.
        public var description: String {
            switch self {
            case .empty: "nothing is left of the name"
            case .tooLong: "the name is longer than \(UserName.longest) bytes"
            case .foreign(let scalar):
                "U+\(String(scalar.value, radix: 16, uppercase: true)) in the name is none of a-z 0-9 _ @ . -"
            }
        }
    }

    /// Why the name has no canonical form; nil where it has one.
    public func reasonUnmapped(_ name: String) -> Unmapped? {
        guard canonical(name) == nil else { return nil }
        guard name.utf8.count <= Self.longestPresented else { return .tooLong }
        let rest = stripped(name)
        if rest.isEmpty { return .empty }
        let foreign = rest.unicodeScalars.first { !$0.isASCII || !UserName.isNameByte(UInt8($0.value)) }
        if escaping == .refuse, let foreign { return .foreign(foreign) }
        return .tooLong
    }
}

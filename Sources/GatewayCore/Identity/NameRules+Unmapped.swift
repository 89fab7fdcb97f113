extension NameRules {
    /// The reason why a name has no canonical form. It is for the log and for operators and is never sent to a caller.
    public enum Unmapped: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name is empty after prefix and suffix are stripped.
        case empty
        /// The name is longer than 111 bytes, escapes included.
        case tooLong
        /// The name has a character that no tag can hold, and escaping is off.
        case foreign(Unicode.Scalar)

        /// A sentence that contains no part of the name but the code point of a foreign character.
        public var description: String {
            switch self {
            case .empty: "the name is empty after prefix and suffix are removed"
            case .tooLong: "the name is longer than \(UserName.longest) bytes"
            case .foreign(let scalar):
                "U+\(String(scalar.value, radix: 16, uppercase: true)) in the name is not one of a-z 0-9 _ @ . -"
            }
        }
    }

    /// Returns the reason why the name has no canonical form; nil if it has one.
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

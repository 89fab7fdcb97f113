import Foundation

/// How a name becomes canonical: NFC, Unicode case folding, at most one prefix and one suffix stripped, then escaped.
///
/// One function serves logins, `to_tag`, policy and the users file, so that two spellings are one user everywhere or nowhere.
/// Names whose folded forms differ never become the same canonical name.
public struct NameRules: Sendable, Hashable {
    /// What to do with a byte that the alphabet of canonical names lacks.
    public enum Escaping: String, Sendable, CaseIterable {
        /// The name has no canonical form.
        case refuse
        /// The byte is written `_x` and two hexadecimal digits, and so is a `_` that stands before an `x`.
        case hex
    }

    /// Folded prefixes, such as `example\`; at most one is removed, the first that fits.
    public let prefixes: [String]
    /// Folded suffixes, such as `@example.com`; at most one is removed, the first that fits.
    public let suffixes: [String]
    /// What to do with bytes outside the alphabet.
    public let escaping: Escaping
    /// Whether authenticators get the name as typed instead of in lower case.
    public let keepsLoginCase: Bool

    /// Rules from what an operator wrote; prefixes and suffixes are folded here.
    public init(
        prefixes: [String] = [], suffixes: [String] = [], escaping: Escaping = .refuse, keepsLoginCase: Bool = false
    ) {
        self.prefixes = prefixes.map(Self.folded)
        self.suffixes = suffixes.map(Self.folded)
        self.escaping = escaping
        self.keepsLoginCase = keepsLoginCase
    }

    /// The form that an authenticator is handed.
    public func login(_ name: PresentedName) -> LoginName {
        LoginName(keepsLoginCase ? name.text : name.text.lowercased())
    }

    /// The canonical form of a name in any spelling, or nil where it has none.
    public func canonical(_ name: String) -> UserName? {
        // A well-formed name of a well-formed call is canonical as it stands.
        if prefixes.isEmpty, suffixes.isEmpty, escaping == .refuse, let already = UserName(canonical: name) {
            return already
        }
        // Folding can lengthen a name at most threefold per scalar; nothing beyond this could ever fit.
        guard name.utf8.count <= Self.longestPresented else { return nil }
        return escaped(stripped(name))
    }

    static let longestPresented = 1024

    /// The name folded, without prefix and suffix.
    func stripped(_ name: String) -> Substring {
        var rest = Self.folded(name)[...]
        if let prefix = prefixes.first(where: rest.hasPrefix) { rest = rest.dropFirst(prefix.count) }
        if let suffix = suffixes.first(where: rest.hasSuffix) { rest = rest.dropLast(suffix.count) }
        return rest
    }

    private func escaped(_ name: Substring) -> UserName? {
        switch escaping {
        case .refuse:
            return UserName(canonical: String(name))
        case .hex:
            var bytes: [UInt8] = []
            let source = Array(name.utf8)
            for (index, byte) in source.enumerated() {
                let startsAnEscape =
                    byte == UInt8(ascii: "_") && index + 1 < source.count && source[index + 1] == UInt8(ascii: "x")
                if UserName.isNameByte(byte), !startsAnEscape {
                    bytes.append(byte)
                } else {
                    let (high, low) = byte.hexDigits
                    bytes += [UInt8(ascii: "_"), UInt8(ascii: "x"), high, low]
                }
            }
            return UserName(canonical: String(decoding: bytes, as: UTF8.self))
        }
    }

    /// NFC and full case folding (Unicode, section 3.13.3), NFC again.
    private static func folded(_ name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.asciiLowercased }
        var folded = ""
        for scalar in name.precomposedStringWithCanonicalMapping.unicodeScalars {
            folded += Self.folded(scalar)
        }
        return folded.precomposedStringWithCanonicalMapping
    }

    private static func folded(_ scalar: Unicode.Scalar) -> String {
        // The dotless i has the capital of the plain one: folded like the others, two people would be one.
        if scalar == "\u{131}" { return String(scalar) }
        // By way of the capitals: small letters without one of their own (long s, sharp s, ligatures, Greek with a subscript
        // iota) then meet their other spellings, however the name is written.
        return scalar.properties.lowercaseMapping.unicodeScalars.flatMap {
            $0.properties.uppercaseMapping.unicodeScalars
        }
        .map(\.properties.lowercaseMapping).joined()
    }
}

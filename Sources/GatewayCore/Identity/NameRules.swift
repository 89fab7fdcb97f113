import Foundation
import GatewaySupport

/// The rules that make a name canonical: NFC, Unicode case folding, removal of at most one prefix and one suffix, then
/// escaping.
///
/// Every name takes one of three ways to a user, and its type says which:
///
/// - `canonical(_:)` of a `LoginName`, the name of an account. It is taken literally: names whose folded forms differ
///   never get the same canonical name, and no account becomes the user whose canonical name it happens to have.
/// - `user(_:)` of a `PresentedName`, by which a person means a user. It accepts the canonical name too.
/// - `user(canonical:)` of text that must be canonical already.
public struct NameRules: Sendable, Hashable {
    /// The treatment of a byte outside the alphabet of canonical names.
    public enum Escaping: String, Sendable, CaseIterable {
        /// The name has no canonical form.
        case refuse
        /// The byte is written as `_x` and two hexadecimal digits. A `_` before an `x` is escaped too.
        case hex
    }

    /// Folded prefixes, such as `example\`. Only the first match is removed.
    public let prefixes: [String]
    /// Folded suffixes, such as `@example.com`. Only the first match is removed.
    public let suffixes: [String]
    /// The treatment of bytes outside the alphabet.
    public let escaping: Escaping
    /// Whether authenticators receive the name as typed instead of in lower case.
    public let keepsLoginCase: Bool

    /// Creates rules from the configuration. Folds the prefixes and suffixes.
    public init(
        prefixes: [String] = [], suffixes: [String] = [], escaping: Escaping = .refuse, keepsLoginCase: Bool = false
    ) {
        self.prefixes = prefixes.map(Self.folded)
        self.suffixes = suffixes.map(Self.folded)
        self.escaping = escaping
        self.keepsLoginCase = keepsLoginCase
    }

    /// Returns the form of the name that authenticators receive.
    public func login(_ name: PresentedName) -> LoginName {
        LoginName(keepsLoginCase ? name.text : name.text.lowercased())
    }

    /// Returns the user of the account with this name in any spelling, or nil if it has no canonical form.
    ///
    /// A name that looks like a canonical name is not taken for one: with `hex`, the account `zo_xc3_xab` is the user
    /// `zo_x5fxc3_x5fxab`, never `zo_xc3_xab`, who is `zoë`.
    public func canonical(_ name: LoginName) -> UserName? {
        // Fast path: most names are canonical already.
        if prefixes.isEmpty, suffixes.isEmpty, escaping == .refuse, let already = UserName(canonical: name.text) {
            return already
        }
        // Bounds the work of folding; a name of this length can have no canonical form.
        guard name.text.utf8.count <= Self.maximumPresentedLength else { return nil }
        let rest = stripped(name.text)
        return isStripped(rest) ? escaped(rest) : nil
    }

    /// Returns the user of an account of an authenticator that cannot list its accounts, or nil if the name is not
    /// `isUnambiguous(_:)`.
    public func unambiguousCanonical(_ name: LoginName) -> UserName? {
        Self.isUnambiguous(name) ? canonical(name) : nil
    }

    /// Returns whether case folding changes only the letter case of the name.
    ///
    /// Folding also merges letters that account databases distinguish: `ß` becomes `ss`, `ſ` becomes `s`, a ligature
    /// becomes its letters, and NFC turns the Kelvin sign into `K`. Two accounts of an authenticator whose accounts are
    /// not known could then be one user, so such names are rejected for these authenticators.
    public static func isUnambiguous(_ name: LoginName) -> Bool {
        let name = name.text
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return true }
        guard name.utf8.count <= maximumPresentedLength else { return false }
        let becomesASCII = name.unicodeScalars.contains { scalar in
            !scalar.isASCII && String(scalar).precomposedStringWithCanonicalMapping.utf8.allSatisfy { $0 < 0x80 }
        }
        // Text is compared by canonical equivalence.
        return !becomesASCII && folded(name) == name.precomposedStringWithCanonicalMapping.lowercased()
    }

    static let maximumPresentedLength = 1024

    /// Returns the folded name without prefix and suffix.
    func stripped(_ name: String) -> Substring {
        var rest = Self.folded(name)[...]
        if let prefix = prefixes.first(where: rest.hasPrefix) { rest = rest.dropFirst(prefix.count) }
        if let suffix = suffixes.first(where: rest.hasSuffix) { rest = rest.dropLast(suffix.count) }
        return rest
    }

    /// Returns whether no prefix and no suffix is left. If one were, the canonical name would be a spelling of another
    /// user.
    private func isStripped(_ rest: Substring) -> Bool {
        !prefixes.contains(where: rest.hasPrefix) && !suffixes.contains(where: rest.hasSuffix)
    }

    private func escaped(_ name: Substring) -> UserName? {
        switch escaping {
        case .refuse:
            return UserName(canonical: String(name))
        case .hex:
            return UserName(canonical: String(decoding: Self.escaped(Array(name.utf8)), as: UTF8.self))
        }
    }

    /// Returns the bytes with `hex` escaping.
    static func escaped(_ source: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
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
        return bytes
    }

    /// Applies NFC, full case folding (Unicode, section 3.13.3), and NFC again.
    static func folded(_ name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.asciiLowercased }
        var folded = ""
        for scalar in name.precomposedStringWithCanonicalMapping.unicodeScalars {
            folded += Self.folded(scalar)
        }
        return folded.precomposedStringWithCanonicalMapping
    }

    private static func folded(_ scalar: Unicode.Scalar) -> String {
        // The dotless i has the same upper-case letter as i; mapping it would merge two different names.
        if scalar == "\u{131}" { return String(scalar) }
        // Maps through upper case, so that letters without an upper case of their own (long s, sharp s, ligatures,
        // Greek with iota subscript) become equal to their other spellings.
        return scalar.properties.lowercaseMapping.unicodeScalars.flatMap {
            $0.properties.uppercaseMapping.unicodeScalars
        }
        .map(\.properties.lowercaseMapping).joined()
    }
}

extension NameRules {
    /// The reason why a name has no canonical form. It is for the log and for operators and is never sent to a caller.
    public enum Unmapped: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name is empty after prefix and suffix are stripped.
        case empty
        /// The name has a prefix or a suffix twice.
        case repeated
        /// The name is longer than 111 bytes, escapes included.
        case tooLong
        /// The name has a character that no tag can hold, and escaping is off.
        case foreign(Unicode.Scalar)

        /// A sentence that contains no part of the name but the code point of a foreign character.
        public var description: String {
            switch self {
            case .empty: "the name is empty after prefix and suffix are removed"
            case .repeated: "the name still has a prefix or suffix of identity.strip after one of each is removed"
            case .tooLong: "the name is longer than \(UserName.maximumLength) bytes"
            case .foreign(let scalar):
                "U+\(String(scalar.value, radix: 16, uppercase: true)) in the name is not one of a-z 0-9 _ @ . -"
            }
        }
    }

    /// Returns the reason why the name has no canonical form; nil if it has one.
    public func reasonUnmapped(_ name: LoginName) -> Unmapped? {
        guard canonical(name) == nil else { return nil }
        guard name.text.utf8.count <= Self.maximumPresentedLength else { return .tooLong }
        let rest = stripped(name.text)
        if rest.isEmpty { return .empty }
        if !isStripped(rest) { return .repeated }
        let foreign = rest.unicodeScalars.first { !$0.isASCII || !UserName.isNameByte(UInt8($0.value)) }
        if escaping == .refuse, let foreign { return .foreign(foreign) }
        return .tooLong
    }
}

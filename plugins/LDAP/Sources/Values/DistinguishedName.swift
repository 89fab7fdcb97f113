internal import CLDAP

/// A distinguished name (RFC 4514), parsed for comparisons.
struct DistinguishedName: Sendable, Hashable {
    /// One attribute of a relative name.
    struct Assertion: Sendable, Hashable {
        /// The type in lower case.
        let type: String
        /// The value, unescaped.
        let value: String
    }

    /// The relative names, the entry's own first.
    let components: [[Assertion]]

    /// Parses a name; returns nil for other text. The empty name is the root of the directory.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength, !text.utf8.contains(0) else { return nil }
        var parsed: LDAPDN?
        guard ldap_str2dn(text, &parsed, UInt32(LDAP_DN_FORMAT_LDAPV3)) == LDAP_SUCCESS else { return nil }
        defer { ldap_dnfree(parsed) }
        var components: [[Assertion]] = []
        var position = parsed
        while let relative = position?.pointee {
            var assertions: [Assertion] = []
            var next: UnsafeMutablePointer<UnsafeMutablePointer<LDAPAVA>?> = relative
            while let assertion = next.pointee {
                guard let type = Self.text(assertion.pointee.la_attr), let value = Self.text(assertion.pointee.la_value)
                else { return nil }
                assertions.append(Assertion(type: type.lowercased(), value: value))
                next += 1
            }
            components.append(assertions)
            position = position.map { $0 + 1 }
        }
        self.components = components
    }

    /// The maximum length of a name in bytes.
    static let maximumLength = 2048

    /// Returns whether this name is below the other one. Compares without case and with spaces squeezed, as most
    /// attributes of names match.
    func isBelow(_ base: DistinguishedName) -> Bool {
        guard components.count > base.components.count else { return false }
        return zip(components.suffix(base.components.count), base.components).allSatisfy { own, other in
            Set(own.map(Self.folded)) == Set(other.map(Self.folded))
        }
    }

    /// The value of the entry's own relative name, if that has one attribute, of this type.
    func name(of type: String) -> String? {
        guard let first = components.first, first.count == 1, first[0].type == type.lowercased() else { return nil }
        return first[0].value
    }

    private static func folded(_ assertion: Assertion) -> Assertion {
        let words = assertion.value.lowercased().split(separator: " ")
        return Assertion(type: assertion.type, value: words.joined(separator: " "))
    }

    private static func text(_ value: berval) -> String? {
        let bytes = UnsafeRawBufferPointer(start: value.bv_val, count: Int(value.bv_len))
        return String(validating: bytes, as: UTF8.self)
    }
}

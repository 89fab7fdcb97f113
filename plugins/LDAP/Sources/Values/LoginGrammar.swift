internal import GatewayCore
internal import GatewaySupport

/// The grammar of names and passwords that are sent to a directory.
enum LoginGrammar {
    /// Returns whether a name has 1–256 bytes without control characters. Filters escape every other character.
    static func isName(_ name: LoginName) -> Bool {
        guard (1...256).contains(name.text.utf8.count) else { return false }
        return name.text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }

    /// Returns whether a password has 1–1024 bytes without NUL. A bind with an empty password is an *unauthenticated
    /// bind*, which servers accept for every name (RFC 4513, section 5.1.2).
    static func isPassword(_ password: Secret) -> Bool {
        guard (1...1024).contains(password.count) else { return false }
        return password.withUnsafeBytes { !$0.contains(0) }
    }
}

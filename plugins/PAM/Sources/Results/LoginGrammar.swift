internal import GatewayCore
internal import GatewaySupport

/// The grammar of names and passwords that are passed to PAM modules.
enum LoginGrammar {
    /// Whether a name is safe for modules, which build file names, command lines and log lines from it: 1–256 bytes
    /// without control characters, `/` or `:`, no leading `-`, and neither `.` nor `..`.
    static func isName(_ name: LoginName) -> Bool {
        let text = name.text
        // Of the bytes, because a hyphen with a combining mark is another `Character`.
        guard (1...256).contains(text.utf8.count), text != ".", text != "..", text.utf8.first != UInt8(ascii: "-")
        else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: scalar != "/" && scalar != ":"
            }
        }
    }

    /// Whether a password has 1–511 bytes without NUL: libpam's `PAM_MAX_RESP_SIZE` less the terminating NUL.
    static func isPassword(_ password: Secret) -> Bool {
        guard (1...511).contains(password.count) else { return false }
        return password.withUnsafeBytes { !$0.contains(0) }
    }
}

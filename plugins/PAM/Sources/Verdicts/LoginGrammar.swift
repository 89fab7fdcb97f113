internal import GatewayCore

/// What may reach a module at all.
enum LoginGrammar {
    /// Modules make file names, command lines and log lines of a user's name: 1–256 bytes without control characters, `/` or
    /// `:`, none that is a directory's name or reads like an option.
    static func isName(_ name: LoginName) -> Bool {
        let text = name.text
        guard (1...256).contains(text.utf8.count), text != ".", text != "..", !text.hasPrefix("-") else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: scalar != "/" && scalar != ":"
            }
        }
    }

    /// 1–511 bytes without NUL: libpam's `PAM_MAX_RESP_SIZE` with the byte that ends a C string.
    static func isPassword(_ password: Secret) -> Bool {
        guard (1...511).contains(password.count) else { return false }
        return password.withUnsafeBytes { !$0.contains(0) }
    }
}

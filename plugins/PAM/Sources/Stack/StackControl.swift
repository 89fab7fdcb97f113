internal import CPAM
internal import GatewaySupport

/// The action of libpam for the return code of a module (pam.d(5)).
enum StackAction: Hashable, Sendable {
    case ignore, ok, done, bad, die, reset
    /// Skips this many modules.
    case jump(Int)
}

/// The control of a line: one action for each return code of a module.
struct StackControl: Hashable, Sendable {
    /// The reason why libpam would take every result of the module for a failure.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// The names of the return codes. The index of a name is its code.
    static let codes = [
        "success", "open_err", "symbol_err", "service_err", "system_err", "buf_err", "perm_denied", "auth_err",
        "cred_insufficient", "authinfo_unavail", "user_unknown", "maxtries", "new_authtok_reqd", "acct_expired",
        "session_err", "cred_unavail", "cred_expired", "cred_err", "no_module_data", "conv_err", "authtok_err",
        "authtok_recover_err", "authtok_lock_busy", "authtok_disable_aging", "try_again", "ignore", "abort",
        "authtok_expired", "module_unknown", "bad_item", "conv_again", "incomplete",
    ]
    private static let words: [(String, StackAction)] = [
        ("ignore", .ignore), ("ok", .ok), ("done", .done), ("bad", .bad), ("die", .die), ("reset", .reset),
    ]

    private var actions: [StackAction?]

    /// The action after a return code.
    subscript(code: UInt8) -> StackAction { actions[Int(code)] ?? .bad }

    /// The actions that jump.
    var jumps: Set<Int> {
        Set(actions.compactMap { if case .jump(let count) = $0 { count } else { nil } })
    }

    /// Reads a control word, or what stands between brackets.
    init(_ text: String) throws(Fault) {
        actions = Array(repeating: nil, count: Self.codes.count)
        switch text.asciiLowercased {
        case "required": set(.ok, otherwise: .bad, afterIgnore: .ignore)
        case "requisite": set(.ok, otherwise: .die, afterIgnore: .ignore)
        case "sufficient": set(.done, otherwise: .ignore, afterIgnore: .ignore)
        case "optional": set(.ok, otherwise: .ignore, afterIgnore: .ignore)
        default: try readPairs(text)
        }
    }

    private mutating func set(_ success: StackAction, otherwise: StackAction, afterIgnore: StackAction) {
        actions = Array(repeating: otherwise, count: Self.codes.count)
        actions[Int(PAM_SUCCESS)] = success
        actions[Int(PAM_NEW_AUTHTOK_REQD)] = success
        actions[Int(PAM_IGNORE)] = afterIgnore
    }

    /// Reads `code=action` pairs as libpam does. `default` means the codes without an action so far.
    private mutating func readPairs(_ text: String) throws(Fault) {
        var rest = Array(text.utf8)[...]
        func skipBlanks() { rest = rest.drop { $0 == UInt8(ascii: " ") || (9...13).contains($0) } }
        func fault(_ place: ArraySlice<UInt8>) -> Fault {
            let word = String(decoding: place.prefix(40).prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
            return Fault(
                message: "\"\(word)\" is not a control; use required, requisite, sufficient, optional, include, "
                    + "substack or [code=action …]")
        }
        skipBlanks()
        while !rest.isEmpty {
            let place = rest
            guard let code = (Self.codes + ["default"]).firstIndex(where: { rest.starts(with: $0.utf8) }) else {
                throw fault(place)
            }
            rest = rest.dropFirst(code < Self.codes.count ? Self.codes[code].utf8.count : "default".utf8.count)
            skipBlanks()
            guard rest.popFirst() == UInt8(ascii: "=") else { throw fault(place) }
            skipBlanks()
            guard let action = Self.action(&rest) else { throw fault(place) }
            if code < Self.codes.count { actions[code] = action } else { actions = actions.map { $0 ?? action } }
            skipBlanks()
        }
    }

    private static func action(_ rest: inout ArraySlice<UInt8>) -> StackAction? {
        if let (word, action) = words.first(where: { rest.starts(with: $0.0.utf8) }) {
            rest = rest.dropFirst(word.utf8.count)
            return action
        }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        guard digits.count <= 4, let count = Int(String(decoding: digits, as: UTF8.self)), count > 0 else { return nil }
        return .jump(count)
    }
}

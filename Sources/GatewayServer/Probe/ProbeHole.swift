/// The holes of notify-users backends (contract: what the backend gets wrong).
enum ProbeHole: Int, Sendable, Hashable, CaseIterable, Comparable {
    case v1 = 1
    case v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19, v20, v21, v22, v23, v24, v25,
        v26

    /// `V1` to `V26`.
    var name: String { "V\(rawValue)" }

    static func < (left: ProbeHole, right: ProbeHole) -> Bool { left.rawValue < right.rawValue }

    /// What it is, in one line.
    var title: String {
        switch self {
        case .v1: "a message injects JSON members"
        case .v2: "a message injects XML elements"
        case .v3: "a user's name injects into payloads"
        case .v4: "to_tag is an expression, and reaches others"
        case .v5: "a registration tagged from:NAME receives all that NAME sends"
        case .v6: "anybody registers another's username: tag"
        case .v7: "a comma in a tag makes two of it"
        case .v8: "the hub's own tags are taken"
        case .v9: "anybody overwrites and deletes anybody's registration"
        case .v10: "invented ids are taken"
        case .v11: "a handle reveals its registration's id"
        case .v12: "a quote in a handle widens the hub's filter"
        case .v13: "an id of two dots is the hub itself"
        case .v14: "the password is the user's name"
        case .v15: "empty users, and passwords with more behind them, are let in"
        case .v16: "a missing or malformed Authorization is a crash"
        case .v17: "what is gone is answered with 500"
        case .v18: "damaged messages are accepted"
        case .v19: "unknown or missing parameters are a crash, or echoed"
        case .v20: "nobody's sends are limited"
        case .v21: "one call costs up to a hundred at the hub"
        case .v22: "credentials travel in the clear"
        case .v23: "pages beside the calls"
        case .v24: "anybody reads anybody's notification"
        case .v25: "bodies are read leniently: duplicate members"
        case .v26: "messages that no push service takes are accepted"
        }
    }

    /// Why it is never tried at a backend that is in use; nil for what may be.
    var danger: String? {
        switch self {
        case .v10: "an invented id may be somebody's registration, which would be lost"
        case .v12: "a widened filter deletes registrations of others"
        case .v13: "it could delete the hub with all registrations"
        case .v20, .v21: "only a flood would show it"
        default: nil
        }
    }
}

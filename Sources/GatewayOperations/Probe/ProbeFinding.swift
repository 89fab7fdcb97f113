internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore

/// The result of testing a vulnerability.
struct ProbeFinding: Sendable, Hashable {
    /// The state of the backend.
    enum State: String, Sendable, Hashable, CaseIterable {
        /// The backend has the vulnerability.
        case open
        /// The backend does not have the vulnerability.
        case closed
        /// The vulnerability was not tested.
        case notTried = "not-tried"
        /// The vulnerability was tested, but the responses are inconclusive.
        case unclear
    }

    var vulnerability: ProbeVulnerability
    var state: State
    /// The observed responses, or the reason why the vulnerability was not tested.
    var evidence: String
}

/// Whether the gateway mitigates a vulnerability.
enum ProbeMitigation: Sendable, Hashable {
    /// Mitigated for every backend.
    case mitigated
    /// Not or not completely mitigated, with the reason.
    case unmitigated(String)

    /// Determines the mitigation from the configuration and from the state of registrations from before the gateway.
    init(_ vulnerability: ProbeVulnerability, _ configuration: ServerConfiguration, migrationWarning: String?) {
        switch vulnerability {
        case .v5, .v6:
            self = migrationWarning.map(ProbeMitigation.unmitigated) ?? .mitigated
        case .v20, .v21:
            self =
                configuration.limits.contains { $0.per != [.address] }
                ? .mitigated : .unmitigated("no limits are configured")
        case .v22:
            let exposed = configuration.listeners.contains { !$0.address.isLocal && $0.allowsPlaintextCredentials }
            self = exposed ? .unmitigated("a listener accepts credentials without TLS") : .mitigated
        default:
            self = .mitigated
        }
    }

    /// The word in the output of the command.
    var word: String {
        switch self {
        case .mitigated: "closed"
        case .unmitigated: "open"
        }
    }

    /// The reason why the vulnerability is not mitigated.
    var reason: String? {
        switch self {
        case .mitigated: nil
        case .unmitigated(let reason): reason
        }
    }
}

/// The known vulnerabilities of notify-users backends.
enum ProbeVulnerability: Int, Sendable, Hashable, CaseIterable, Comparable {
    case v1 = 1
    case v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19, v20, v21, v22, v23, v24, v25,
        v26

    /// The identifier: `V1` to `V26`.
    var name: String { "V\(rawValue)" }

    static func < (left: ProbeVulnerability, right: ProbeVulnerability) -> Bool { left.rawValue < right.rawValue }

    /// The vulnerability in one line.
    var title: String {
        switch self {
        case .v1: "a message injects JSON members"
        case .v2: "a message injects XML elements"
        case .v3: "a user's name injects into payloads"
        case .v4: "to_tag is an expression that can reach others"
        case .v5: "a registration with the tag from:NAME receives everything that NAME sends"
        case .v6: "any user can register another user's username: tag"
        case .v7: "a comma in a tag splits it into two tags"
        case .v8: "reserved tags of the hub are accepted"
        case .v9: "any user can overwrite and delete any registration"
        case .v10: "invented ids are accepted"
        case .v11: "a handle reveals its registration's id"
        case .v12: "a quote in a handle widens the hub's filter"
        case .v13: "an id of two dots addresses the hub itself"
        case .v14: "the password is the user name"
        case .v15: "empty user names, and passwords with a suffix, are accepted"
        case .v16: "a missing or malformed Authorization causes a crash"
        case .v17: "a deleted registration causes a 500 response"
        case .v18: "damaged messages are accepted"
        case .v19: "unknown or missing parameters cause a crash, or are echoed"
        case .v20: "sends have no rate limit"
        case .v21: "one call causes up to a hundred calls to the hub"
        case .v22: "credentials are sent without TLS"
        case .v23: "further pages beside the calls"
        case .v24: "any user can read any notification"
        case .v25: "bodies with duplicate members are accepted"
        case .v26: "messages that no push service takes are accepted"
        }
    }

    /// The reason why the vulnerability is never tested on a backend in use; nil if it may be.
    var danger: String? {
        switch self {
        case .v10: "an invented id may belong to a registration, which would be overwritten"
        case .v12: "a widened filter deletes registrations of others"
        case .v13: "it could delete the hub with all registrations"
        case .v20, .v21: "a test would need a flood of calls"
        default: nil
        }
    }
}

internal import Gateway
internal import GatewayCore

/// What the probe found of a hole.
struct ProbeFinding: Sendable, Hashable {
    /// How the backend stands.
    enum State: String, Sendable, Hashable, CaseIterable {
        /// It has the hole.
        case open
        /// It does not.
        case closed
        /// What would have to be tried was not.
        case notTried = "not-tried"
        /// It was tried, and the answers do not tell.
        case unclear
    }

    var vulnerability: ProbeVulnerability
    var state: State
    /// What was seen, or why nothing was tried.
    var evidence: String
}

/// How the gateway stands to a hole.
enum ProbeMitigation: Sendable, Hashable {
    /// Closed, whatever the backend does.
    case closed
    /// Not, or not altogether, and why.
    case open(String)

    /// The gateway's answer to the hole, by its configuration and what is known of registrations from before it.
    init(_ vulnerability: ProbeVulnerability, _ configuration: ServerConfiguration, unclean: String?) {
        switch vulnerability {
        case .v5, .v6:
            self = unclean.map(ProbeMitigation.open) ?? .closed
        case .v20, .v21:
            self = configuration.limits.contains { $0.per != [.address] } ? .closed : .open("no limits are configured")
        case .v22:
            let exposed = configuration.listeners.contains { !$0.address.isLocal && $0.allowsPlaintextCredentials }
            self = exposed ? .open("a listener takes credentials in the clear") : .closed
        default:
            self = .closed
        }
    }

    var word: String {
        switch self {
        case .closed: "closed"
        case .open: "open"
        }
    }

    var reason: String? {
        switch self {
        case .closed: nil
        case .open(let reason): reason
        }
    }
}

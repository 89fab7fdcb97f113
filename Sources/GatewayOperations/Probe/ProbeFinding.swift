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
    /// Mitigated, whatever the backend does.
    case closed
    /// Not or not completely mitigated, with the reason.
    case open(String)

    /// Determines the mitigation from the configuration and from the state of registrations from before the gateway.
    init(_ vulnerability: ProbeVulnerability, _ configuration: ServerConfiguration, unclean: String?) {
        switch vulnerability {
        case .v5, .v6:
            self = unclean.map(ProbeMitigation.open) ?? .closed
        case .v20, .v21:
            self = configuration.limits.contains { $0.per != [.address] } ? .closed : .open("no limits are configured")
        case .v22:
            let exposed = configuration.listeners.contains { !$0.address.isLocal && $0.allowsPlaintextCredentials }
            self = exposed ? .open("a listener accepts credentials without TLS") : .closed
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

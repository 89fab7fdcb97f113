internal import GatewayCore

/// What was said of a credential, and whose word that is.
struct Judgement: Sendable {
    let outcome: AuthenticationOutcome
    /// The authenticator whose word decided; nil where none was heard: there was no room to ask, or the time was over.
    var judge: PluginName?

    /// Nobody can tell.
    static func unavailable(_ reason: OutageReason) -> Judgement { Judgement(outcome: .unavailable(reason)) }
}

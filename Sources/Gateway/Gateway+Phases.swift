internal import GatewayCore
internal import GatewaySupport

// The phases of `Gateway` that the dry run also uses, created from the configuration.

extension Parsing {
    init(_ rules: CompiledConfiguration) {
        self.init(
            routes: RouteTable(rules.profile.client, issuesTokens: rules.authenticators.issuer != nil),
            names: rules.names, handles: rules.handles, profile: rules.profile, messages: rules.messages)
    }
}

extension Authorization {
    init(
        _ rules: CompiledConfiguration, ledger: any RegistrationLedger, sessions: any SessionStore,
        history: any NotificationHistory, historyLimiter: Limiter, clocks: Clocks
    ) {
        self.init(
            policy: rules.policy, sendRules: SendRules(rules.policy.send), ledger: ledger, limiter: rules.limiter,
            sessions: sessions, chain: rules.authenticators, history: history, historyLimiter: historyLimiter,
            clocks: clocks)
    }
}

extension Rewriting {
    init(_ rules: CompiledConfiguration, digester: KeyedDigester, randomness: @escaping @Sendable () -> UInt64) {
        self.init(
            payloadFrames: rules.profile.backend.allPayloadFrames(), digester: digester, randomness: randomness)
    }
}

extension UpstreamEncoder {
    convenience init(_ rules: CompiledConfiguration) {
        self.init(backend: rules.profile.backend, host: rules.backendHost, credential: rules.credential)
    }
}

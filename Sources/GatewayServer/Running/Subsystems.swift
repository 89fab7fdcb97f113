internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewaySupport

/// The subsystems that outlive a reload of the configuration.
struct Subsystems: Sendable {
    let stores: StoresSubsystem
    let authenticators: AuthenticatorsSubsystem
    let calls: CallsSubsystem
    let accounts: AccountsSubsystem
    let sinks: AuditSinksSubsystem
    let archive: SegmentArchiveSubsystem
    let tracing: TracingSubsystem

    /// The subsystems with settings that a reload changes, in the order in which they adopt them.
    var participants: [any ReloadParticipant] { [stores, calls, authenticators, accounts, sinks, archive, tracing] }

    /// Makes what depends on the open stores.
    ///
    /// - Parameter tls: The verification of each backend's certificate; nil without TLS.
    init(_ context: ServerContext, _ stores: StoresSubsystem, tls: [ClientTLS?]) async throws {
        self.stores = stores
        authenticators = try await AuthenticatorsSubsystem(context, revocations: stores.stores.sessions)
        calls = CallsSubsystem(context, stores.stores, chain: authenticators.chain.value, tls: tls)
        sinks = AuditSinksSubsystem(context, stores.stores)
        archive = SegmentArchiveSubsystem(context, stores.stores)
        tracing = TracingSubsystem(context)
        accounts = try await AccountsSubsystem(context, stores.stores, calls, authenticators)
    }
}

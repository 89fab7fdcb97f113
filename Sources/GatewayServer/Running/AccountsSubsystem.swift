internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import ServiceLifecycle

/// Ended accounts: detected, revoked, and their registrations deleted at the backend.
struct AccountsSubsystem: ReloadParticipant {
    let revocation: UserRevocation
    let sweeper: RegistrationSweeper
    /// Compares the accounts of lists with their last known state.
    let monitor: AccountMonitor
    private let recheck: AccountRecheck
    private let expiry: UnconfirmedRegistrationExpiry
    private let stores: GatewayStores
    private let logger: Logger

    /// Forgets the accounts of authenticators that are no longer configured, unless other gateways share the store: then
    /// `monitor` does so when all agree.
    init(
        _ context: ServerContext, _ stores: GatewayStores, _ calls: CallsSubsystem,
        _ authenticators: AuthenticatorsSubsystem
    ) async throws {
        let lists = authenticators.made.lists
        if stores.nodes == nil { try await stores.sessions.keepAccounts(of: Set(lists.map(\.name))) }
        self.stores = stores
        logger = context.logger
        sweeper = RegistrationSweeper(ledger: stores.ledger, logger: logger)
        revocation = UserRevocation(
            stores: stores, passwordCache: calls.passwordCache, throttle: calls.throttle, sends: calls.sends,
            sweeper: sweeper, logger: logger)
        revocation.followOtherGateways()
        monitor = AccountMonitor(
            lists, among: authenticators.made.chain.names, revocation: revocation, agreement: stores.nodes,
            massEnds: authenticators.massEnds,
            clocks: context.clocks, logger: logger)
        recheck = AccountRecheck(
            chain: authenticators.chain, revocation: revocation, authentication: authenticators.rules,
            sharing: stores.nodes, massEnds: authenticators.massEnds, logger: logger)
        expiry = UnconfirmedRegistrationExpiry(
            ledger: stores.ledger, sweeper: sweeper, leases: stores.nodes, clocks: context.clocks, logger: logger)
    }

    /// Revokes the accounts that ended while the gateway was stopped. Called before the first call.
    func revokeEnded() async { await monitor.compare() }

    /// The services of the accounts.
    var services: [any Service] { [recheck, expiry] }

    /// Applies what waited for an operator.
    func applyWaiting() async {
        await monitor.retry()
        recheck.wake()
    }

    /// Returns a warning for each authenticator that a configuration would remove, with the number of its registrations.
    ///
    /// - Parameter present: The configuration in effect.
    func removalWarnings(
        from present: ServerConfiguration, to new: ServerConfiguration, file: String
    ) async -> [ConfigurationProblem] {
        let removed = Set(present.authenticators.map(\.name)).subtracting(new.authenticators.map(\.name))
        guard !removed.isEmpty else { return [] }
        let counts: [PluginName: Int]
        do throws(LedgerUnavailable) { counts = try await stores.sessions.registrationCounts() } catch { return [] }
        return new.unconfiguredRegistrations(counts.filter { removed.contains($0.key) }, file: file)
    }

    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async {
        await monitor.watch(made.lists, among: made.chain.names)
        // The lists of before would still agree with those of the other gateways.
        do throws(LedgerUnavailable) { try await stores.nodes?.withdrawLists() } catch {
            logger.error("Account lists could not be withdrawn", metadata: ["detail": "\(error.detail)"])
        }
        do throws(LedgerUnavailable) {
            if stores.nodes == nil {
                try await stores.sessions.keepAccounts(of: Set(made.lists.map(\.name)))
            }
        } catch {
            logger.error(
                "Accounts of removed authenticators could not be revoked", metadata: ["detail": "\(error.detail)"])
        }
        recheck.wake()
    }
}

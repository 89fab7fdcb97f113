internal import Gateway
internal import GatewayConfiguration
internal import GatewayConsole
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import ServiceLifecycle

/// The operator console; without one in the configuration there is none.
struct ConsoleSubsystem: Sendable {
    /// The running gateway, which verifies passwords; nil until it has started.
    let running: HotSwappable<RunningGateway?>
    private let server: ConsoleServer?

    /// Opens the listener. Nobody can log in before `running` is set.
    ///
    /// - Throws: The reason why the address cannot be bound.
    static func open(
        _ context: ServerContext, _ subsystems: Subsystems, _ operations: OperationsSubsystem, tls: ConfiguredTLS
    ) async throws -> ConsoleSubsystem {
        let running = HotSwappable<RunningGateway?>(nil)
        guard let section = context.configuration.console else {
            return ConsoleSubsystem(running: running, server: nil)
        }
        // Counting a long journal takes seconds, so it does not wait for the first page.
        if !subsystems.stores.isShared { subsystems.stores.history.statistics.start() }
        let (stores, calls, chain) = (subsystems.stores, subsystems.calls, subsystems.authenticators.chain)
        let accounts = ConsoleAccounts(
            logIn: { user, password, peer, call in
                guard let running = running.value else {
                    return .failure(Rejection(.draining, "the gateway has not started yet"))
                }
                return await running.logIn(user, password: password, from: peer, as: call)
            },
            status: { await chain.value.status(of: $0) }, access: { calls.consoleAccess.value },
            provider: ProviderAccounts(
                methods: {
                    LoginMethods(
                        acceptsPasswords: chain.value.acceptsPasswords,
                        offersProvider: chain.value.offersBrowserLogins)
                },
                begin: { await running.value?.beginBrowserLogin($0) ?? .unavailable(.failed) },
                complete: { response, epoch, peer, call in
                    guard let running = running.value else {
                        return .failure(Rejection(.draining, "the gateway has not started yet"))
                    }
                    return await running.completeBrowserLogin(response, since: epoch, from: peer, as: call)
                }))
        let parts = ConsoleServer.Parts(
            operations: operations.operations, accounts: accounts,
            sessions: ConsoleSessions(clocks: context.clocks, revocations: stores.stores.sessions),
            live: LiveCalls(operations.journal, logger: context.logger),
            verification: RunningVerification(operations.operations, operations.verifier, clocks: context.clocks),
            health: { await health(stores, running.value, operations.journal) },
            groups: { stores.stores.sessions.groups(of: $0) }, names: context.configuration.names,
            clocks: context.clocks, journal: stores.stores.journal, hasNodes: stores.stores.nodes != nil,
            logger: context.logger)
        do {
            return ConsoleSubsystem(
                running: running,
                server: try await ConsoleServer.open(section, tls: tls.console, parts, group: context.threads.group))
        } catch {
            throw ListenAddressError(error, at: section.address)
        }
    }

    /// The address with the port that the system assigned; nil without a console.
    func address(_ section: ServerConfiguration.ConsoleSection?) -> ListenAddress? {
        section.map { $0.address.bound(to: server?.port) }
    }

    /// The services of the console, which listens before they start.
    var services: [any Service] { server.map { [ConsoleService(server: $0)] } ?? [] }

    /// Closes the listener after the requests in progress. Needed if the services did not stop it.
    func close() async { await server?.stop() }

    private static func health(
        _ stores: StoresSubsystem, _ running: RunningGateway?, _ journal: JournalSource
    ) async -> ConsoleHealth {
        var query = AuditQuery()
        query.kind = .checkpoint
        let line = try? await stores.history.page(query, limit: 1, isOfCalls: false).rows.first?.first
        let record = line.flatMap { try? JSONParser().parse($0.span) }
        let backends = await running?.upstreamReading().destinations ?? []
        return ConsoleHealth(
            obstacle: await stores.readiness.obstacle(), warning: stores.readiness.warning,
            backends: backends.map { ($0.address, $0.isAvailable ? "available" : "unavailable", $0.isAvailable) },
            records: journal.followers.durableEnd,
            checkpoint: record.flatMap { record in
                guard let time = record["at"]?.string.flatMap(WallTime.init(rfc3339:)),
                    let through = record["through"]?.integer.flatMap(UInt64.init(exactly:))
                else { return nil }
                return (time, through)
            })
    }
}

/// The service that stops the console. It listens before the services start.
private struct ConsoleService: Service {
    let server: ConsoleServer

    func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
    }
}

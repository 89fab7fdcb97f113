internal import AuditSinks
internal import GatewayConfiguration
internal import GatewayOperations
internal import GatewayStore
internal import Logging
internal import OutboundHTTP
internal import ServiceLifecycle

/// The sinks to which the journal's records are sent.
struct AuditSinksSubsystem: ReloadParticipant {
    private let sinks: AuditSinks
    private let first: [AuditSinkSettings]

    /// Creates the sinks of the first configuration, which ``services`` start.
    init(_ context: ServerContext, _ stores: GatewayStores) {
        let section = context.configuration.journal
        sinks = AuditSinks(
            AuditSinks.Journal(
                directory: section.directory, followers: stores.followers, firstLine: stores.journal.firstLine,
                copy: stores.journalCopy),
            timing: DeliveryTiming(clocks: context.clocks), logger: context.logger)
        first = section.sinks
    }

    /// The state of each sink for the metrics.
    var readings: [AuditSinkReading] { get async { await sinks.readings } }

    /// The services of the sinks.
    var services: [any Service] { [AuditSinksService(sinks: sinks, first: first)] }

    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async {
        await sinks.apply(configuration.journal.sinks)
    }
}

/// The service that runs the sinks. When it stops, the records that no receiver has confirmed stay in the journal for the
/// next run.
private struct AuditSinksService: Service {
    let sinks: AuditSinks
    let first: [AuditSinkSettings]

    func run() async throws {
        await sinks.apply(first)
        try? await gracefulShutdown()
        await sinks.stop()
    }
}

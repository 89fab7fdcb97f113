internal import GatewayConfiguration
internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import OutboundHTTP
internal import ServiceLifecycle
internal import TraceExport

/// The export of spans. It exists while tracing is turned off too, so that a reload can turn it on.
struct TracingSubsystem: ReloadParticipant {
    private let export: TraceExport
    private let first: TraceExportSettings?

    /// Creates the export of the first configuration, which ``services`` start.
    init(_ context: ServerContext) {
        export = TraceExport(
            version: ProgramVersion.text, timing: DeliveryTiming(clocks: context.clocks), logger: context.logger)
        first = context.configuration.tracing?.export
    }

    /// The destination of the spans of sampled calls.
    var recorder: any SpanRecorder { export.queue }

    /// The counters for the metrics.
    var metrics: TraceExportMetrics { export.metrics }

    /// The services of the export. They end after the listeners, so the spans of the last calls are exported.
    var services: [any Service] { [TraceExportService(export: export, first: first)] }

    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async {
        await export.apply(configuration.tracing?.export)
    }
}

/// The service that runs the export. When it stops, spans that are left have five seconds.
private struct TraceExportService: Service {
    let export: TraceExport
    let first: TraceExportSettings?

    func run() async throws {
        await export.apply(first)
        try? await gracefulShutdown()
        await export.stop()
    }
}

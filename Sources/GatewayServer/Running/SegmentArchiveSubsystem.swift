internal import GatewayConfiguration
internal import GatewayOperations
internal import Logging
internal import OutboundHTTP
internal import SegmentArchive
internal import ServiceLifecycle

/// The archive of the journal's segments. It exists while no archive is configured too, so that a reload can turn it on.
struct SegmentArchiveSubsystem: ReloadParticipant {
    private let archive: SegmentArchive
    private let first: ArchiveSettings?

    /// Creates the archive of the first configuration, which ``services`` start.
    init(_ context: ServerContext, _ stores: GatewayStores) {
        let section = context.configuration.journal
        archive = SegmentArchive(
            SegmentArchive.Journal(directory: section.directory, followers: stores.followers),
            timing: DeliveryTiming(clocks: context.clocks), logger: context.logger)
        first = section.archive
    }

    /// The state for the metrics; nil without an archive.
    var reading: ArchiveReading? { get async { await archive.reading } }

    /// The services of the archive.
    var services: [any Service] { [SegmentArchiveService(archive: archive, first: first)] }

    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async {
        await archive.apply(configuration.journal.archive)
    }
}

/// The service that runs the archive. When it stops, the segments that are not archived stay in the journal for the next
/// run.
private struct SegmentArchiveService: Service {
    let archive: SegmentArchive
    let first: ArchiveSettings?

    func run() async throws {
        await archive.apply(first)
        try? await gracefulShutdown()
        await archive.stop()
    }
}

internal import GatewayOperations
internal import Logging
internal import ServiceLifecycle

/// The service that logs once, at the start, what is wrong with the rights of the notification hub's key.
///
/// Calls are served meanwhile, since a hub that cannot be reached at the start may be reached later.
struct HubKeyCheck: Service {
    private let probe: HubProbe
    private let logger: Logger

    init(_ probe: HubProbe, logger: Logger) {
        self.probe = probe
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await check() }
        try? await gracefulShutdown()
    }

    private func check() async {
        do throws(BackendProbe.Unavailable) {
            let report = try await probe.run()
            for remark in report.remarks {
                logger.log(
                    level: report.isSufficient ? .warning : .error, "Hub key needs attention",
                    metadata: ["detail": "\(remark)"])
            }
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("Rights of the hub key are unknown", metadata: ["detail": "\(error.reason)"])
        }
    }
}

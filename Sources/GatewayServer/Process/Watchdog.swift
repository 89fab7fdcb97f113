internal import GatewayHTTP
internal import Logging
internal import ServiceLifecycle

/// The service that reports the gateway as alive to the service manager while every event loop responds.
struct Watchdog: Service {
    let notifier: ServiceNotifier
    let lagMonitor: EventLoopLagMonitor
    let logger: Logger

    /// Runs until after the drain, because the manager expects reports until the process has exited.
    func run() async throws {
        guard let time = notifier.watchdogTime else {
            try? await gracefulShutdown()
            return
        }
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: time / 3)) != nil {
                if lagMonitor.isResponsive(within: time / 2) {
                    notifier.alive()
                } else {
                    logger.critical("Event loop is blocked")
                }
            }
        }
    }
}

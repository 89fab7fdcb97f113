internal import GatewayHTTP
internal import Logging
internal import ServiceLifecycle

/// Tells the service manager that the gateway is alive for as long as it is: while every event loop gets round to its work.
struct Watchdog: Service {
    let notifier: ServiceNotifier
    let lagMonitor: EventLoopLagMonitor
    let logger: Logger

    /// To the end, the drain included: the manager asks until the process is gone.
    func run() async throws {
        guard let time = notifier.watchdogTime else {
            try? await gracefulShutdown()
            return
        }
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: time / 3)) != nil {
                if lagMonitor.isBeating(within: time / 2) {
                    notifier.alive()
                } else {
                    logger.critical("Event loop is blocked")
                }
            }
        }
    }
}

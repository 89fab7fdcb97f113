import ServiceLifecycle

/// A service that sends a heartbeat to all live inboxes at a fixed interval.
struct InboxHeartbeat: Service {
    static let interval = Duration.seconds(15)

    let hub: NotificationHub

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                hub.sendHeartbeats()
            }
        }
    }
}

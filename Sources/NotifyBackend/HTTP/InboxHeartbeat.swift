import ServiceLifecycle

/// Sends a heartbeat to all live inboxes now and then.
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

import ServiceLifecycle

/// Sends periodic heartbeats to all live inboxes.
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

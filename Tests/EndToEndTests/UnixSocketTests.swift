import GatewayTesting
import Logging
import NotifyBackend
import Testing

@Suite("Unix sockets to clients and to the backend")
struct UnixSocketTests {
    @Test("A send passes through Unix sockets only")
    func wholeWay() async throws {
        let sockets = try TestFiles()
        let hub = NotificationHub()
        let handle = String(repeating: "5A", count: 32)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await ServiceRunner.run { started in
            let backend = EmbeddedBackend(
                flavor: .classic, hub: hub, socketPath: "\(sockets.path)/backend", logger: logger,
                onListening: { started($0) })
            try await backend.run()
        } whileRunning: { (_: Int) in
            try await GatewayUnderTest.run(
                backend: "unix:\(sockets.path)/backend", socket: "\(sockets.path)/gateway"
            ) { gateway in
                let registered = try await gateway.client.register("bob", "apns", handle)
                #expect(registered.status == 200)
                let sent = try await gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hello""#)
                #expect(sent.status == 200)
                #expect(hub.inbox(ofHandle: handle).count == 1)
                let records = try gateway.journal()
                #expect(records.contains { $0["peer"] as? String == "unix" })
            }
        }
    }
}

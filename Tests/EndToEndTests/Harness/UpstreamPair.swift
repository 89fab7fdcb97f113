import GatewayTesting
import Logging
import NotifyBackend

/// A classic backend and the REST interface of a hub, both running on ports of 127.0.0.1: what is behind a gateway during
/// a migration from one to the other.
struct UpstreamPair {
    let classicPort: Int
    let hubPort: Int
    /// The hub behind the backend.
    let classicHub: NotificationHub
    /// The hub that the gateway uses itself. It is that of the backend, unless the test keeps them apart.
    let hub: NotificationHub
    let seen: GatewayUnderTest.SeenRequests

    /// The values of `backend` of the steps of a migration.
    var classicAlone: String { "{ \(TestUpstream.classic.settings(port: classicPort)) }" }
    var androidAtHub: String {
        "[{ platforms: [fcm], \(TestUpstream.hub.settings(port: hubPort)) }, "
            + "{ \(TestUpstream.classic.settings(port: classicPort)) }]"
    }
    var hubAlone: String { "{ \(TestUpstream.hub.settings(port: hubPort)) }" }

    /// Runs the body with a pair.
    ///
    /// - Parameter sharing: Whether backend and gateway use the same hub.
    static func run<Result: Sendable>(
        sharing: Bool = true, _ body: (UpstreamPair) async throws -> Result
    ) async throws -> Result {
        let classicHub = NotificationHub()
        let hub = sharing ? classicHub : NotificationHub()
        let seen = GatewayUnderTest.SeenRequests()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try await GatewayUnderTest.runBackend(.classic, hub: classicHub, seen: seen) { classicPort in
            try await ServiceRunner.run { started in
                try await EmbeddedBackend(
                    access: TestUpstream.access, hub: hub, logger: logger, onListening: { started($0) },
                    onRequest: { seen.add($0) }
                ).run()
            } whileRunning: { (hubPort: Int) in
                try await body(
                    UpstreamPair(
                        classicPort: classicPort, hubPort: hubPort, classicHub: classicHub, hub: hub, seen: seen))
            }
        }
    }
}

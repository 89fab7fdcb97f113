import GatewayCore
import GatewayServer
import GatewayTesting
import NotifyBackend
import Testing

/// An account that PAM locks, of somebody who never had a token: there is no file whose change would tell, and no call comes.
@Suite("An account that PAM locks", .enabled(if: PAMModules.matrix != nil, "pam_matrix is not installed"))
struct LockedAccountTests {
    @Test("loses its devices at the backend, and others keep theirs", .timeLimit(.minutes(1)))
    func loses() async throws {
        let stack = try PAMStack()
        try stack.useMatrix("nobody", "daemon")
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { backend in
            let directory = try TestFiles()
            let text =
                ConfiguredGateway.preamble.replacing("127.0.0.1:1\"", with: "127.0.0.1:\(backend)\"") + """
                    authenticators:
                      - pam: { service: \(PAMStack.service), service-directory: \(stack.path), minimum-uid: 1 }
                    """
            let catalog = PluginCatalog([PAMOfTests.self])
            try await ConfiguredGateway.start(text, in: directory, catalog: catalog) { gateway in
                guard case .tcp(_, let port) = gateway.listeners.first else {
                    throw GatewayUnderTest.StartFailure(description: "no listener")
                }
                let client = try RawClient(port: port)
                let handles = [
                    "nobody": String(repeating: "AC", count: 32), "daemon": String(repeating: "BD", count: 32),
                ]
                for (user, handle) in handles {
                    #expect(try await client.register(user, "apns", handle, password: "right").status == 200)
                }
                #expect(hub.registrations().count == 2)
                try stack.useMatrix("daemon")
                // The review comes every ten minutes, and with a reload.
                let fault = try await ControlClient(path: directory.path + "/control.sock")
                    .ask(ControlRequest("reload")) { _ in }
                #expect(fault == nil)
                while hub.registrations().count > 1 { await Task.yield() }
                #expect(hub.registrations().map(\.handle) == [handles["daemon"]])
            }
        }
    }
}

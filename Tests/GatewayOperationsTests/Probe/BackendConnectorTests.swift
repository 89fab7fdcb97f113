import Gateway
import GatewayHTTP
import GatewayTesting
import NIOCore
import NIOSSL
import Testing

@testable import GatewayOperations

@Suite("The certificate of a probed backend", .timeLimit(.minutes(1)))
struct BackendConnectorTests {
    @Test("A backend gets a request only if its certificate has the configured name", arguments: ServerNameCase.all)
    func names(_ example: ServerNameCase) async throws {
        let context = try example.certificate.serverContext()
        let server = try await ScriptedServer.start { pipeline in
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        } _: { _ in
            [.write(ScriptedServer.ok("yes"))]
        }
        let request = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: b\r\nAuthorization: Basic YTpi\r\n\r\n")
        for (host, isValid) in [("localhost", example.isForName), ("127.0.0.1", example.isForAddress)] {
            let seen = server.seen.count
            let connector = BackendConnector(
                address: .tls(host: host, port: server.port),
                tls: try ClientTLS(.init(authorities: ServerNameCase.authority)))
            do throws(ProbeError) {
                #expect(try await connector.exchange(request).status == 200)
                #expect(isValid && server.seen.count == seen + 1, "\(host)")
            } catch {
                #expect(!isValid && error.detail.contains("is for another name"), "\(host): \(error.detail)")
                #expect(server.seen.count == seen)
            }
        }
        await server.stop()
    }
}

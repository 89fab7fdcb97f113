import GatewayCore
import GatewayTesting
import NIOCore
import NIOHTTP1
import NIOSSL
import OutboundTLS
import Testing

@testable import ForwardAuth

@Suite("The certificate of the service", .timeLimit(.minutes(1)))
struct ServiceTLSTests {
    @Test("A service gets a password only if its certificate has the name of the URL", arguments: ServerNameCase.all)
    func names(_ example: ServerNameCase) async throws {
        let context = try example.certificate.serverContext()
        let service = try await ScriptedServer.start { pipeline in
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        } _: { _ in
            [.write(ScriptedServer.ok(""))]
        }
        let authorities = try NIOSSLCertificate.fromPEMBytes(Array(ServerNameCase.authority.utf8))
        var accepted = 0
        for (host, isValid) in [
            ("localhost", example.isForName), ("127.0.0.1", example.isForAddress), ("LOCALHOST", example.isForName),
        ] {
            let url = "https://\(host):\(service.port)/verify"
            let client = ServiceClient(
                .init(timeout: .seconds(30)), url: url, tls: .outbound(trusting: authorities))
            let result = await client.get(url, ["Authorization": "Basic YWxpY2U6c2VjcmV0"]) { $0.status.code }
            if isValid {
                accepted += 1
                #expect(result == .success(200), "\(host)")
            } else {
                guard case .failure(.unreachable(let reason)) = result else {
                    Issue.record("\(host): \(result)")
                    continue
                }
                #expect(reason.hasPrefix("the server's certificate is for another name: "), "\(host)")
            }
            #expect(service.seen.count == accepted, "\(host)")
        }
        // A client verifies the name of its own server, whatever a request names.
        let other = ServiceClient(
            .init(timeout: .seconds(30)), url: "https://other.example/", tls: .outbound(trusting: authorities))
        let result = await other.get("https://localhost:\(service.port)/", [:]) { $0.status.code }
        #expect((try? result.get()) == nil && service.seen.count == accepted)
        await service.stop()
    }
}

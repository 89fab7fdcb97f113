import GatewaySupport
import GatewayTesting
import NIOCore
import NIOSSL
import OutboundHTTP
import Testing

@testable import SegmentArchive

@Suite("The certificate of the object store", .timeLimit(.minutes(1)))
struct ObjectStoreTLSTests {
    @Test("A store gets a request only if its certificate has the name of the endpoint", arguments: ServerNameCase.all)
    func names(_ example: ServerNameCase) async throws {
        let files = try TestFiles()
        let authority = try files.write(ServerNameCase.authority, to: "ca.pem")
        let context = try example.certificate.serverContext()
        let server = try await ScriptedServer.start { pipeline in
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        } _: { _ in
            [.write(ScriptedServer.response("404 Not Found"))]
        }
        for (host, isValid) in [("localhost", example.isForName), ("127.0.0.1", example.isForAddress)] {
            let seen = server.seen.count
            let settings = ArchiveSettings(
                ArchiveSettings.Location(
                    endpoint: try EndpointURL("https://\(host):\(server.port)"), region: "r", bucket: "b", prefix: "p"),
                ArchiveSettings.Credentials(accessKeyID: "key", secretAccessKey: Secret("secret".utf8)),
                authority: authority)
            let thread = DeliveryThread()
            let store = ObjectStore(settings, thread: thread, clocks: .system)
            do throws(DeliveryFailure) {
                #expect(try await store.properties(of: "object") == nil)
                #expect(isValid && server.seen.count == seen + 1, "\(host)")
            } catch {
                #expect(!isValid && error.reason.contains("is for another name"), "\(host): \(error.reason)")
                #expect(server.seen.count == seen)
            }
            await store.close()
            thread.stop()
        }
        await server.stop()
    }
}

import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite("Shutdown with HTTP/2 clients")
struct HTTP2ShutdownTests {
    private static let send = "/api/notifications?pns=apns&to_tag=bob"

    private func files(_ backend: PausedBackend) throws -> TestFiles {
        let directory = try TestFiles.ofGateway()
        try directory.configure(
            """
            listen: [{ address: "unix:\(directory.path)/public.sock", http2: true }]
            admin: { address: "unix:\(directory.path)/admin.sock" }
            backend: { url: "http://127.0.0.1:\(backend.port)" }
            drain: { grace: 200ms }
            """)
        return directory
    }

    @Test(
        "A gateway that drains first asks for no further streams, serves those on their way, and then names the last one"
    )
    func drain() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        try await PausedBackend.run {
            arrival.yield()
        } whileServing: { backend in
            let directory = try files(backend)
            let manager = try NotifySocket(in: directory.path)
            let gateway = try ManagedProgram.start(in: directory, environment: ["NOTIFY_SOCKET": manager.path])
            #expect(try await manager.next(with: "READY")["READY"] == "1")
            var answered: [UInt32: Bool] = [:]
            var goaways: [UInt32?] = []
            try await StreamClient.run(socket: "\(directory.path)/public.sock") { client in
                for stream in [1, 3, 5] as [UInt32] {
                    try await client.call(stream, "POST", Self.send, as: "alice", body: "\"\(stream)\"")
                }
                var seen = 0
                for await _ in arrivals {
                    seen += 1
                    if seen == 3 { break }
                }
                gateway.signal(SIGTERM)
            } each: { frame, client in
                if frame.type == 1 { answered[frame.stream] = frame.isGood }
                // The calls are held until the client has answered, so that streams are open all the time.
                if frame.type == 6 { try await client.answer(frame) }
                guard frame.type == 7 else { return }
                goaways.append(frame.lastStream)
                #expect(frame.reason == 0)
                #expect(answered.isEmpty)
                if goaways.count == 1 {
                    try await client.call(7, "POST", Self.send, as: "alice", body: "\"on its way\"")
                } else {
                    try await client.call(9, "POST", Self.send, as: "alice", body: "\"late\"")
                    backend.release()
                }
            }
            #expect(goaways == [0x7FFF_FFFF, 7])
            #expect(answered == [1: true, 3: true, 5: true, 7: true])
            #expect(await gateway.status() == 0)
            let outcomes = try GatewayUnderTest.journal(in: directory).filter { $0["kind"] as? String == "outcome" }
            #expect(outcomes.map { $0["result"] as? String } == Array(repeating: "accepted", count: 4))
        }
    }
}

import CoreMetrics
import NIOCore
import NIOPosix
import Testing

/// The metrics of libraries belong to the process, and other tests of the process count in them too. So each test has
/// names of its own, or expects no exact number.
@Suite("Metrics of libraries in a scrape")
struct LibraryMetricsScrapeTests {
    private func scrape(_ port: Int) async throws -> String {
        let response = try await RawClient(port: port).send(
            "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(response.status == 200)
        return response.text
    }

    @Test("A counter made through swift-metrics is in the scrape of each gateway of the process")
    func counter() async throws {
        try await GatewayUnderTest.run { gateway in
            // The running gateway has installed its factory.
            let counter = CoreMetrics.Counter(label: "test.scraped.things", dimensions: [("kind", "a\"b")])
            counter.increment(by: 3)
            let line = #"test_scraped_things_total{kind="a\"b"} 3"#
            #expect(try await scrape(gateway.adminPort).contains("\n\(line)\n"))
            // A second gateway in the process does not install a second factory, which would trap.
            try await GatewayUnderTest.run { other in
                let text = try await scrape(other.adminPort)
                #expect(text.contains("\n\(line)\n"))
            }
            counter.destroy()
            let last = try await scrape(gateway.adminPort)
            #expect(!last.contains("test_scraped_things"))
        }
    }

    @Test("Hummingbird counts requests to the routes of the admin listener, and no other path or method")
    func adminRequests() async throws {
        try await GatewayUnderTest.run { gateway in
            let client = try RawClient(port: gateway.adminPort)
            for request in ["DELETE /metrics", "GET /invented"] {
                #expect(try await client.send("\(request) HTTP/1.1\r\nHost: a\r\n\r\n").status == 404)
            }
            let text = try await secondScrape(gateway.adminPort)
            let labels = #"{http_request_method="GET",http_response_status_code="200",http_route="/metrics"}"#
            for name in ["hb_requests_total", "http_server_request_duration_seconds_count"] {
                #expect(text.contains("\n\(name)\(labels) "), "\(name)")
            }
            #expect(text.contains("\n" + #"http_server_active_requests{http_request_method="GET"} "#))
            #expect(!text.contains("DELETE") && !text.contains("/invented"))
        }
    }

    /// Returns the second of two scrapes over one connection. Its requests are served in turn, so the first scrape has
    /// been counted when the second one is made.
    private func secondScrape(_ port: Int) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let received = try await channel.executeThenClose { inbound, outbound in
            let head = "GET /metrics HTTP/1.1\r\nHost: a\r\n"
            try await outbound.write(ByteBuffer(string: "\(head)\r\n\(head)Connection: close\r\n\r\n"))
            var received = ByteBuffer()
            for try await buffer in inbound { received.writeImmutableBuffer(buffer) }
            return String(buffer: received)
        }
        let second = try #require(received.ranges(of: "HTTP/1.1 200 OK\r\n").dropFirst().first)
        return String(received[second.lowerBound...])
    }
}

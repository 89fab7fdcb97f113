import GatewayStore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOHTTP1
import OutboundHTTP
import Testing

@testable import AuditSinks

@Suite("Values of audit sinks")
struct SinkValueTests {
    private static let line = Array(
        #"{"seq":7,"at":"2026-11-25T10:00:00.000001Z","kind":"refusal","call":"c1","attempted":"a\"]\\\n","status":403}"#
            .utf8)

    @Test("A syslog message has the record's members as structured data and the line as message")
    func syslog() {
        let message = SyslogMessage(facility: .authpriv, host: "gate way", process: 12)
        let text = String(decoding: message.bytes(Self.line[...]), as: UTF8.self)
        let data = #"[notify@32473 seq="7" call="c1" attempted="a\"\]\\?" status="403"]"#
        #expect(
            text
                == "<85>1 2026-11-25T10:00:00.000001Z gateway notify-gateway 12 refusal \(data) "
                + String(decoding: Self.line, as: UTF8.self))
        #expect(message.frame(Self.line[...]) == Array("\(text.utf8.count) \(text)".utf8))
    }

    @Test("A line that is no record and a line that is too long become messages too")
    func unusualLines() {
        let message = SyslogMessage(facility: .local7, host: "", process: 1)
        #expect(
            String(decoding: message.bytes(Array("x".utf8)[...]), as: UTF8.self)
                == "<189>1 - - notify-gateway 1 - [notify@32473] x")
        let long = #"{"seq":1,"x":""# + String(repeating: "é", count: SyslogMessage.maximumLineBytes) + #""}"#
        let text = String(decoding: message.bytes(Array(long.utf8)[...]), as: UTF8.self)
        #expect(text.contains(#"[notify@32473 seq="1" truncated="true"] {"#))
        #expect(text.utf8.count < SyslogMessage.maximumLineBytes + 128 && !text.contains("\u{FFFD}"))
    }

    @Test("The signature covers the time and the body")
    func signature() throws {
        // Python: hmac.new(b"k" * 32, b"1795000000.{}\n", "sha256").hexdigest()
        let signature = WebhookSignature(Secret([UInt8](repeating: UInt8(ascii: "k"), count: 32)))
        let value = try signature.value(for: Array("{}\n".utf8), at: WallTime(seconds: 1_795_000_000))
        #expect(
            value
                == "t=1795000000,v1=f3e933bd600d3fa192dc63fa7c93e71880371f21bdddbe5679140bd83ab89b9b")
    }

    @Test(
        "URLs of webhooks",
        arguments: [
            ("https://logs.example.org/in?x=1", true), ("http://127.0.0.1:8080/", true), ("http://[::1]/", true),
            ("http://localhost/", true), ("http://logs.example.org/", false), ("http://10.0.0.1/", false),
            ("https://a:b@logs.example.org/", false), ("https://logs.example.org/#x", false), ("https:///x", false),
            ("https://logs.example.org:0/", false), ("ftp://127.0.0.1/", false), ("", false),
            ("https://logs.example.org/\n", false), ("http://127.0.0.1.example.org/", false),
        ])
    func urls(text: String, isUsable: Bool) { #expect(((try? EndpointURL(text)) != nil) == isUsable) }

    @Test("A wait that the receiver asks for is read in seconds and as a date")
    func retryAfter() {
        let now = WallTime(seconds: 1_795_000_000)
        #expect(RetryAfter.wait("120", now: now) == .seconds(120))
        #expect(RetryAfter.wait("Wed, 18 Nov 2026 10:08:00 GMT", now: WallTime(seconds: 1_794_996_400)) == .seconds(80))
        #expect(RetryAfter.wait("Wed, 18 Nov 2020 10:08:00 GMT", now: now) == .zero)
        for text in ["", "-1", "1.5", "99999999999", "soon", "Wed, 99 Nov 2026 10:08:00 GMT", "1e3"] {
            #expect(RetryAfter.wait(text, now: now) == nil, "\(text)")
        }
    }

    @Test("Waits double up to five minutes; a receiver may ask for an hour at most")
    func delays() {
        var delay = RetryDelay()
        #expect((0..<4).map { _ in delay.next(after: nil, jitter: 1) } == [1, 2, 4, 8].map { .seconds($0) })
        for _ in 0..<100 { _ = delay.next(after: nil, jitter: 0) }
        #expect(delay.next(after: nil, jitter: 0) == .seconds(150))
        #expect(delay.next(after: .seconds(10), jitter: 1) == .seconds(300))
        #expect(delay.next(after: .seconds(86_400), jitter: 1) == .seconds(3600))
        delay.reset()
        #expect(delay.next(after: nil, jitter: 0) == .milliseconds(500))
    }

    @Test("Only a status of 2xx confirms a batch")
    func statuses() {
        for code in [200, 202, 204, 299] {
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: code))
            #expect(WebhookResponse.failure(head, now: WallTime(seconds: 0)) == nil)
        }
        for code in [101, 300, 301, 307, 400, 404, 413, 429, 500, 503] {
            var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: code))
            head.headers = ["Retry-After": "7"]
            #expect(WebhookResponse.failure(head, now: WallTime(seconds: 0))?.retryAfter == .seconds(7))
        }
    }

    @Test("A cursor keeps its position; a file of other content is reported")
    func cursor() throws {
        let directory = try TestFiles()
        let cursor = SinkCursor(sink: "a", journal: directory.path + "/journal")
        #expect(cursor.path == directory.path + "/journal.sink-a")
        #expect(try cursor.load() == .missing)
        let position = JournalPosition(next: .max, segment: 7, offset: 65_536)
        try cursor.store(position)
        #expect(try cursor.load() == .position(position))
        #expect(try directory.mode(of: "journal.sink-a") == 0o600)
        for text in ["", "{}", #"{"format":2,"next":1,"segment":1,"offset":0}"#, "x", #"{"format":1,"next":-1}"#] {
            try directory.write(text, to: "journal.sink-a")
            guard case .damaged = try cursor.load() else {
                Issue.record("\(text) was read")
                continue
            }
        }
        // An error of the system says nothing about the content.
        let missing = SinkCursor(sink: "a", journal: "\(directory.path)/journal.sink-a/x")
        #expect(throws: DeliveryFailure.self) { try missing.load() }
    }

    @Test("The frames of the last ten seconds before a break are kept, up to a size")
    func recentFrames() {
        func time(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
        var recent = RecentFrames()
        for second: Int64 in 0..<20 { recent.add(ByteBuffer(string: "\(second)"), at: time(second)) }
        #expect(recent.removeAll(at: time(20)).map { String(buffer: $0) } == (10..<20).map(String.init))
        #expect(recent.removeAll(at: time(20)).isEmpty)
        for _ in 0..<3 { recent.add(ByteBuffer(repeating: 0, count: SinkBatch.maximumBytes), at: time(30)) }
        #expect(recent.removeAll(at: time(30)).count == 2)
        recent.add(ByteBuffer(string: "x"), at: time(40))
        #expect(recent.removeAll(at: time(60)).isEmpty)
    }

    @Test("Names of sinks")
    func names() {
        for name in ["a", "siem-2", String(repeating: "x", count: 32)] { #expect(AuditSinkSettings.isName(name)) }
        for name in ["", "A", "a/b", "a.b", "ä", String(repeating: "x", count: 33)] {
            #expect(!AuditSinkSettings.isName(name))
        }
    }
}

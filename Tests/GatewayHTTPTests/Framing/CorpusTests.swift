import Foundation
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// The request fixtures of llhttp's tests: nothing traps, nothing depends on splitting, and what they call invalid is no
/// request here either. Skipped where the fixtures are not at hand (`NOTIFY_GATEWAY_CORPORA` says where they are).
@Suite struct CorpusTests {
    struct Fixture: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        /// Whether the strict parser of the fixtures refuses it.
        var isInvalid: Bool

        var testDescription: String { name }
    }

    private static let folder = TestData.corpus("llhttp/request")

    @Test(.enabled(if: CorpusTests.folder != nil, "no llhttp fixtures: set NOTIFY_GATEWAY_CORPORA"))
    func fixturesAreFramedOrRefused() throws {
        let fixtures = try Self.fixtures()
        #expect(fixtures.count > 50)
        for fixture in fixtures {
            let whole = frame([fixture.bytes[...]])
            #expect(frame(fixture.bytes.indices.map { fixture.bytes[$0...$0] }) == whole, "\(fixture.name)")
            if fixture.isInvalid {
                // Refused, or not yet complete: never taken for requests to the end.
                let endsInAFault = whole.last?.code != nil
                let isUnfinished = whole.isEmpty
                #expect(endsInAFault || isUnfinished, "\(fixture.name): \(whole)")
            }
        }
    }

    /// The same on sockets, before a whole gateway: whatever is invalid is refused, and nothing of any of them reaches the backend.
    @Test(.enabled(if: CorpusTests.folder != nil, "no llhttp fixtures: set NOTIFY_GATEWAY_CORPORA"))
    func fixturesReachNoBackend() async throws {
        let fixtures = try Self.fixtures()
        try await EdgeFixture.run { bench in
            for fixture in fixtures {
                let client = try await RawClient.connect(to: bench.listener.localAddress, group: EdgeFixture.group)
                // Cut off by a fault, or complete and answered: after the end of the input the gateway closes.
                try? await client.channel.writeAndFlush(ByteBuffer(bytes: fixture.bytes))
                try? await client.closeOutput()
                let answers = EdgeFixture.Answers(text: await client.receiveToEnd())
                try? await client.channel.close()
                #expect(answers.statuses.allSatisfy { $0 >= 400 }, "\(fixture.name): \(answers.text)")
                let framed = frame([fixture.bytes[...]])
                let most = framed.count { if case .continueExpected = $0 { false } else { true } }
                // Fewer where one of them asked for the end of the connection.
                #expect(answers.statuses.count <= most, "\(fixture.name): \(answers.text)")
                if fixture.isInvalid, most == 1, framed.last?.code != nil {
                    #expect(answers.statuses.count == 1, "\(fixture.name)")
                }
            }
            #expect(bench.gateway.backend.requests == [] && bench.gateway.backend.unreadable.isEmpty)
            let good = try await bench.exchange(EdgeFixture.send())
            #expect(good.statuses == [200])
        }
    }

    private static func fixtures() throws -> [Fixture] {
        guard let folder else { return [] }
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        var fixtures: [Fixture] = []
        for file in files.sorted(by: { $0.path < $1.path }) where file.pathExtension == "md" {
            let text = try String(contentsOf: file, encoding: .utf8)
            fixtures += read(text, file: file.lastPathComponent)
        }
        return fixtures
    }

    /// A heading, a comment with the kind of parser, the bytes in a fence, and the parser's events in another.
    private static func read(_ text: String, file: String) -> [Fixture] {
        var fixtures: [Fixture] = []
        var (heading, meta, fence, content) = ("", "", String?.none, [Substring]())
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let open = fence {
                guard line == "```" else {
                    content.append(line)
                    continue
                }
                if open == "http" {
                    let name = "\(file): \(heading) #\(fixtures.count)"
                    fixtures.append(Fixture(name: name, bytes: unescape(content), isInvalid: false))
                } else if open == "log", let last = fixtures.indices.last {
                    let isStrict = meta.contains("\"type\": \"request\"")
                    let isRejected = content.contains { $0.contains("error code=") && !isNoFault($0) }
                    fixtures[last].isInvalid = isStrict && isRejected
                }
                fence = nil
            } else if line.hasPrefix("```") {
                fence = String(line.dropFirst(3))
                content = []
            } else if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" || $0 == " " })
            } else if line.hasPrefix("<!-- meta=") {
                meta = String(line)
            }
        }
        return fixtures
    }

    // The connection ends there, which is not for the framer to know; pauses are no errors; and a method that the fixtures'
    // parser does not have is one without a route here.
    private static func isNoFault(_ line: Substring) -> Bool {
        line.contains("after `Connection: close`") || line.contains("Pause") || line.contains("Invalid method")
    }

    // Line ends stand for CRLF, but for escaped ones; escapes stand for their bytes.
    private static func unescape(_ lines: [Substring]) -> [UInt8] {
        var text = lines.joined(separator: "\r\n").replacingOccurrences(of: "\\\r\n", with: "")
        for (escape, byte) in [("\\r", "\r"), ("\\n", "\n"), ("\\t", "\t"), ("\\f", "\u{C}"), ("\\0", "\0")] {
            text = text.replacingOccurrences(of: escape, with: byte)
        }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"), rest.count >= 3,
                let number = UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(number)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}

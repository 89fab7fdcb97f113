import Foundation
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests with the request fixtures of llhttp: nothing traps, the result does not depend on splitting, and every invalid
/// fixture is rejected. Skipped without the fixtures; `NOTIFY_GATEWAY_CORPORA` is their directory.
@Suite struct CorpusTests {
    struct Fixture: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        /// Whether the strict parser of llhttp rejects the fixture.
        var isInvalid: Bool

        var testDescription: String { name }
    }

    private static let folder = TestData.corpus("llhttp/request")

    @Test(
        "The framer rejects every invalid fixture",
        .enabled(if: CorpusTests.folder != nil, "no llhttp fixtures: set NOTIFY_GATEWAY_CORPORA"))
    func theFramerRejectsEveryInvalidFixture() throws {
        let fixtures = try Self.fixtures()
        #expect(fixtures.count > 50)
        for fixture in fixtures {
            let whole = frame([fixture.bytes[...]])
            #expect(frame(fixture.bytes.indices.map { fixture.bytes[$0...$0] }) == whole, "\(fixture.name)")
            if fixture.isInvalid {
                // A fault or an incomplete request; never only complete requests.
                let endsInAFault = whole.last?.code != nil
                let isUnfinished = whole.isEmpty
                #expect(endsInAFault || isUnfinished, "\(fixture.name): \(whole)")
            }
        }
    }

    /// The same fixtures on a socket in front of a complete gateway. No request reaches the backend.
    @Test(
        "No fixture reaches the backend",
        .enabled(if: CorpusTests.folder != nil, "no llhttp fixtures: set NOTIFY_GATEWAY_CORPORA"))
    func noFixtureReachesTheBackend() async throws {
        let fixtures = try Self.fixtures()
        try await EdgeFixture.run { bench in
            for fixture in fixtures {
                let client = try await RawConnection.connect(to: bench.listener.localAddress, group: EdgeFixture.group)
                // The gateway closes the connection after a fault, or after the end of the input.
                try? await client.channel.writeAndFlush(ByteBuffer(bytes: fixture.bytes))
                try? await client.closeOutput()
                let answers = EdgeFixture.Answers(text: await client.receiveToEnd())
                try? await client.channel.close()
                #expect(answers.statuses.allSatisfy { $0 >= 400 }, "\(fixture.name): \(answers.text)")
                let framed = frame([fixture.bytes[...]])
                let most = framed.count { if case .continueExpected = $0 { false } else { true } }
                // There are fewer responses if a request asks to close the connection.
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

    /// Matches a heading, a comment with the kind of parser, the bytes in a fence, and the parser's events in another
    /// fence.
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

    // The end of the connection is not visible to the framer. A pause is not an error. A method that llhttp does not
    // know is a method without a route here.
    private static func isNoFault(_ line: Substring) -> Bool {
        line.contains("after `Connection: close`") || line.contains("Pause") || line.contains("Invalid method")
    }

    // Unescaped line endings stand for CRLF. Escapes stand for their bytes.
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

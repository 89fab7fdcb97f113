import ExternalProcess
import Foundation
import GatewayCore
import NIOCore
import Testing

@testable import enum ExternalProcess.Frame
@testable import struct ExternalProcess.Hello
@testable import struct ExternalProcess.Request
@testable import enum ExternalProcess.Verdict

@Suite("README")
struct ReadmeTests {
    private static func examples() throws -> [String] {
        let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("README.md")
        let parts = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```")
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map {
            $0.element.drop { $0 != "\n" }.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    @Test("the example of the configuration loads")
    func configuration() throws {
        let problems = ConfigurationProblems()
        let root = ConfigurationReader(
            try YAMLDocument.parse(try #require(try Self.examples().first), file: "gateway.yaml"), directory: "",
            problems: problems)
        let list = try #require(root.sequence("authenticators"))
        let entry = root.reader(of: try #require(list.first).node, under: "authenticators[0]")
        let reader = try #require(entry.mapping(ExternalProcessPlugin.name.text))
        let settings = try #require(ExternalProcessPlugin.readSettings(reader))
        reader.finish()
        #expect(problems.all.isEmpty)
        #expect(settings.socket == "/run/notify-gateway/auth.sock")
        #expect(settings.kinds == [.password])
    }

    @Test("the messages of the protocol are the ones that are spoken")
    func messages() throws {
        let examples = try Self.examples()
        try #require(examples.count == 5)
        #expect(String(decoding: Hello.frame.readableBytesView.dropFirst(4), as: UTF8.self) == examples[1])
        let hello = try Hello(ByteBuffer(string: examples[2]))
        #expect(hello.name == "example")
        #expect(hello.takes == [.password])
        let documented = try Frame.object(ByteBuffer(string: examples[3]))
        let id = try #require(documented["id"]?.string)
        let request = try #require(
            Request(
                .password(user: LoginName("alice"), password: Secret("correct horse".utf8)),
                peer: Peer(address: .v4(0xC000_0201), text: "192.0.2.1")))
        let sent = String(
            decoding: request.frame(timeLeft: .milliseconds(4980)).readableBytesView.dropFirst(4), as: UTF8.self)
        #expect(sent.replacing(request.id, with: id) == examples[3])
        let verdict = try Verdict(ByteBuffer(string: examples[4]), on: id)
        #expect(verdict == .accepted(user: "alice", groups: Set([GroupName("dispatch")].compactMap(\.self))))
    }
}

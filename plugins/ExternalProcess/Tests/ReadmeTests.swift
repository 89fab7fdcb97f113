import ExternalProcess
import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import enum ExternalProcess.AuthenticationReply
@testable import enum ExternalProcess.Frame
@testable import struct ExternalProcess.Hello
@testable import struct ExternalProcess.Request

@Suite("README of external-process")
struct ReadmeTests {
    @Test("The example configuration loads")
    func configuration() throws {
        let settings = try PluginReadme().settings(of: ExternalProcessPlugin.self)
        #expect(settings.socket == "/run/notify-gateway/auth.sock")
        #expect(settings.delegation.kinds == [.password])
    }

    @Test("The documented messages are the ones that are sent and accepted")
    func messages() throws {
        let examples = try PluginReadme().examples.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        try #require(examples.count == 5)
        #expect(String(decoding: Hello.frame.readableBytesView.dropFirst(4), as: UTF8.self) == examples[1])
        let hello = try Hello(ByteBuffer(string: examples[2]))
        #expect(hello.name == "example")
        #expect(hello.takes == [.password])
        let documented = try Frame.decodeObject(ByteBuffer(string: examples[3]))
        let id = try #require(documented["id"]?.string)
        let request = try #require(
            Request(
                .password(user: LoginName("alice"), password: Secret("correct horse".utf8)),
                peer: .documentation))
        let sent = String(
            decoding: request.frame(timeLeft: .milliseconds(4980)).readableBytesView.dropFirst(4), as: UTF8.self)
        #expect(sent.replacing(request.id, with: id) == examples[3])
        let verdict = try AuthenticationReply(ByteBuffer(string: examples[4]), on: id)
        #expect(verdict == .accepted(user: "alice", groups: Set([GroupName("dispatch")].compactMap(\.self))))
    }
}

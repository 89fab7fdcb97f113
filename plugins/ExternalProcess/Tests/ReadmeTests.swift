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
@testable import struct ExternalProcess.StatusRequest

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
        try #require(examples.count == 10)
        #expect(String(decoding: Hello.frame.readableBytesView.dropFirst(4), as: UTF8.self) == examples[1])
        let hello = try Hello(ByteBuffer(string: examples[2]))
        #expect(hello.name == "example")
        #expect(hello.takes == [.password])
        #expect(hello.reportsStatus)
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
        let status = try Frame.decodeObject(ByteBuffer(string: examples[5]))
        let statusID = try #require(status["id"]?.string)
        let query = try #require(StatusRequest(LoginName("alice")))
        let queried = String(
            decoding: query.frame(timeLeft: .milliseconds(4980)).readableBytesView.dropFirst(4), as: UTF8.self)
        #expect(queried.replacing(query.id, with: statusID) == examples[5])
        let groups = Set([GroupName("dispatch")].compactMap(\.self))
        #expect(try AccountStatus(ByteBuffer(string: examples[6]), on: statusID) == .valid(groups: groups))
    }

    @Test("The configuration for one's own process loads")
    func ownProcess() throws {
        let settings = try PluginReadme().settings(of: ExternalProcessPlugin.self, example: 8)
        #expect(settings.reportsStatus)
    }
}

import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@Suite("Plug-in that fails on purpose")
struct FailingPluginTests {
    private func make(_ yaml: String) async throws -> any Authenticator {
        let problems = ConfigurationProblems()
        let reader = ConfigurationReader(try YAMLDocument.parse(yaml, file: "g"), directory: "", problems: problems)
        let settings = try #require(FailingPlugin.readSettings(reader))
        reader.finish()
        #expect(problems.all.isEmpty)
        return try await FailingPlugin.makeAuthenticator(settings, context: .test())
    }

    private let credential = Credential.password(user: LoginName("alice"), password: Secret("x".utf8))
    private let peer = Peer(address: .local, text: "unix")

    @Test("The mode `throws` fails the construction") func throwing() async throws {
        await #expect(throws: FailingPlugin.Broken.self) { _ = try await make("{ how: throws }") }
    }
    @Test("The mode `another-user` accepts a different user") func another() async throws {
        let outcome = await (try await make("{ how: another-user, user: mallory }")).authenticate(
            credential, from: peer)
        guard case .accepted(let identity) = outcome else {
            Issue.record("the credential is not accepted")
            return
        }
        #expect(identity.user.text == "mallory")
    }
    @Test("The mode `late` ignores cancellation") func late() async throws {
        let authenticator = try await make("{ how: late, after: 1ms }")
        let task = Task { await authenticator.authenticate(credential, from: peer) }
        task.cancel()
        guard case .accepted = await task.value else {
            Issue.record("the credential is not accepted")
            return
        }
    }
    @Test("The mode `hangs` does not return") func hangs() async throws {
        let authenticator = try await make("{ how: hangs }")
        let hasReturned = Atomic(false)
        // The immediate task returns here once the authenticator waits. Its cancellation resumes nothing.
        let task = Task.immediate {
            _ = await authenticator.authenticate(credential, from: peer)
            hasReturned.store(true, ordering: .relaxed)
        }
        task.cancel()
        let returned = hasReturned.load(ordering: .relaxed)
        #expect(!returned)
    }
    @Test("An invalid mode and an invalid user are reported") func mistakes() throws {
        let problems = ConfigurationProblems()
        let reader = ConfigurationReader(
            try YAMLDocument.parse("{ how: well, user: A B }", file: "g"), directory: "", problems: problems)
        #expect(FailingPlugin.readSettings(reader) == nil)
        #expect(problems.all.count == 2)
    }
}

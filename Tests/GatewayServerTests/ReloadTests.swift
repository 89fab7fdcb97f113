import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import StaticUsers
import Synchronization
import Testing

@testable import GatewayServer

@Suite("Changed files")
struct ReloadTests {
    // Each password equals the user name.
    private static let alice =
        #"users: { alice: { hash: "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3" } }"#
    private static let bob =
        #"users: { bob: { hash: "$5$rounds=1000$bob$cr6R9EWEuhFKkx1neuJY8.iqd.V7.VzOb7/ApSr1wV0" } }"#

    private func verdict(_ authenticator: any Authenticator, _ user: String) async -> AuthenticationOutcome {
        await authenticator.authenticate(
            .password(user: LoginName(user), password: Secret(user.utf8)), from: .documentation)
    }

    @Test("A changed users file applies once three checks find it, and an invalid one changes nothing")
    func users() async throws {
        let files = try TestFiles()
        let file = try files.write(Self.alice, to: "users.yaml")
        let made = try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: .test())
        let authenticator = try #require(made as? any ReloadableAuthenticator)
        let service = ReloadService(
            [authenticator], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

        // The steps that run before each check, in order.
        let steps: [@Sendable () async throws -> Void] = [
            {
                guard case .accepted = await verdict(authenticator, "alice") else { throw Unexpected() }
                try files.write(Self.bob, to: "users.yaml")
            },
            {
                guard case .accepted = await verdict(authenticator, "alice") else { throw Unexpected() }
            },
            {
                guard case .accepted = await verdict(authenticator, "alice") else { throw Unexpected() }
            },
            {
                #expect(await verdict(authenticator, "alice") == .rejected(.wrong))
                guard case .accepted = await verdict(authenticator, "bob") else { throw Unexpected() }
                try files.write("users: [", to: "users.yaml")
            },
            {
                guard case .accepted = await verdict(authenticator, "bob") else { throw Unexpected() }
            },
        ]
        await service.reload(on: Looks(steps: steps))
    }

    @Test("The first check reads all files, and a file that could not be read is read again at each check")
    func busy() async throws {
        let files = try TestFiles()
        let authenticator = Flaky(file: try files.write("1", to: "file"))
        let service = ReloadService(
            [authenticator], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let steps: [@Sendable () async throws -> Void] = [
            { try files.write("22", to: "file") }, {}, {}, {},
            { #expect(authenticator.reloads.withLock { $0 } == 3) },
        ]
        await service.reload(on: Looks(steps: steps))
    }

    @Test("A requested reload returns the problems of all files")
    func onDemand() async throws {
        let files = try TestFiles()
        let (good, flaky) = (Quiet(), Flaky(file: try files.write("1", to: "file")))
        let service = ReloadService(
            [good, flaky], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let run = Task { await service.reload(on: service.wakeUps) }
        async let first = service.reloadNow()
        async let second = service.reloadNow()
        // Two requests may share a check. Each check reads all files.
        for problems in [await first, await second] {
            #expect(problems?.map(\.message) == ["was not read"])
        }
        run.cancel()
        await run.value
        #expect(good.reloads.withLock { $0 } >= 1)
        #expect(await service.reloadNow() == nil)
    }

    /// An authenticator without problems.
    private final class Quiet: ReloadableAuthenticator {
        let files: [String] = []
        let reloads = Mutex(0)

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }

        func reload() async -> [ConfigurationProblem] {
            reloads.withLock { $0 += 1 }
            return []
        }
    }

    /// An authenticator that fails to read its file twice.
    private final class Flaky: ReloadableAuthenticator {
        let files: [String]
        let reloads = Mutex(0)

        init(file: String) { files = [file] }

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }

        func reload() async -> [ConfigurationProblem] {
            let count = reloads.withLock { count in
                count += 1
                return count
            }
            return count < 3
                ? [ConfigurationProblem(at: SourceLocation(file: files[0]), path: "", "was not read")] : []
        }
    }

    private struct Unexpected: Error {}

    /// A sequence that triggers a check after each step.
    private struct Looks: AsyncSequence, AsyncIteratorProtocol {
        var steps: [@Sendable () async throws -> Void]

        func makeAsyncIterator() -> Looks { self }

        mutating func next() async -> Void? { await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Void? {
            if steps.isEmpty { return nil }
            do {
                try await steps.removeFirst()()
            } catch {
                Issue.record(error)
            }
            return ()
        }
    }

    @Test("The detector reports a new or changed file once")
    func watch() throws {
        let files = try TestFiles()
        var watch = FileChangeDetector(["\(files.path)/a", "\(files.path)/b"])
        var seen = [watch.checkForChanges()]
        try files.write("1", to: "a")
        seen += [watch.checkForChanges(), watch.checkForChanges()]
        try files.write("22", to: "a")
        seen += [watch.checkForChanges()]
        try files.write("333", to: "b")
        seen += [watch.checkForChanges(), watch.checkForChanges()]
        #expect(seen == [false, true, false, true, true, false])
    }
}

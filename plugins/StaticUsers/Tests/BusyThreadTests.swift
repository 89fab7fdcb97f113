import Dispatch
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOPosix
import Testing

@testable import StaticUsers

@Suite("Users file operations while every hashing thread is busy")
struct BusyThreadTests {
    /// Returns a context whose hashing threads and queue length the test controls.
    private static func context(_ hashing: NIOThreadPool, capacity: Int) -> PluginContext {
        let base = PluginContext.test()
        return PluginContext(
            logger: base.logger, blockingPool: BlockingPool(threads: hashing, capacity: capacity),
            filePool: base.filePool, clocks: base.clocks, names: base.names, isLastOfItsKind: true)
    }

    // The password of each user equals the name.
    private static let alice =
        #"users: { alice: { hash: "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3""#

    private static func made(_ file: String, _ context: PluginContext) async throws -> StaticUsersAuthenticator {
        try #require(
            try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: context)
                as? StaticUsersAuthenticator)
    }

    @Test("The users file is read and reloaded although the hashing pool is full")
    func reads() async throws {
        let files = try TestFiles()
        let file = try files.write(Self.alice + "} }", to: "users.yaml")
        let authenticator = try await Self.made(file, Self.context(.singleton, capacity: 0))
        #expect(await authenticator.login("alice", "alice") == .unavailable(.busy))
        try files.write(Self.alice + ", disabled: true } }", to: "users.yaml")
        // A file that takes something from a user counts at the third look.
        for _ in 0..<2 { _ = await authenticator.reload() }
        #expect(await authenticator.reload() == [])
        #expect(authenticator.accounts(at: .test).fingerprints.isEmpty)
    }

    @Test(
        "A login that waits for a thread is verified against the file as reloaded meanwhile",
        arguments: [
            (alice + ", disabled: true } }", AuthenticationOutcome.rejected(.disabled)),
            (alice.replacing("alice: {", with: "bob: {") + "} }", .rejected(.wrong)),
            (alice.replacing("20.kuh", with: "20.kuH") + "} }", .rejected(.wrong)),
            (alice + ", groups: [staff] } }", .accepted("alice", groups: ["staff"], by: "static-users")),
        ])
    func waits(text: String, outcome: AuthenticationOutcome) async throws {
        let files = try TestFiles()
        let file = try files.write(Self.alice + "} }", to: "users.yaml")
        let hashing = NIOThreadPool(numberOfThreads: 1)
        hashing.start()
        let authenticator = try await Self.made(file, Self.context(hashing, capacity: 64))
        let (gate, open) = (Gate(), Gate())
        // Holds the only thread until the file has been reloaded.
        hashing.submit { _ in
            open.signal()
            gate.wait()
        }
        open.wait()
        // When this returns, the login has read the table and waits for the thread.
        let waiting = Task.immediate { await authenticator.login("alice", "alice") }
        try files.write(text, to: "users.yaml")
        // A file that takes something from a user counts at the third look.
        for _ in 0..<2 { _ = await authenticator.reload() }
        #expect(await authenticator.reload() == [])
        gate.signal()
        #expect(await waiting.value == outcome)
        try await hashing.shutdownGracefully()
    }
}

/// A semaphore that blocks the waiting thread.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func signal() { semaphore.signal() }
    func wait() { semaphore.wait() }
}

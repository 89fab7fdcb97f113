import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import GatewayTesting
import HMACToken
import Synchronization
import Testing

/// Rotations of token keys while tokens are in use.
@Suite("Key rotation under load", .timeLimit(.minutes(10)))
struct KeyRotationTests {
    /// The issued tokens with the expiry of their keys, and the results of calls with them.
    private final class Book: Sendable {
        struct Entry {
            let token: String
            /// The expiry of its key; nil for the current signing key.
            var end: WallTime?
        }

        struct Tally {
            var accepted = 0
            var refused = 0
            /// The number of rejections before the expiry of the key.
            var falselyRefused = 0
            /// The number of acceptances after the expiry of the key.
            var falselyAccepted = 0
        }

        let clock: ManualClock
        private let entries = Mutex<[Entry]>([])
        private let tally = Mutex(Tally())

        init(clock: ManualClock) { self.clock = clock }

        var all: [Entry] { entries.withLock { $0 } }
        var result: Tally { tally.withLock { $0 } }

        func add(_ token: String) { entries.withLock { $0.append(Entry(token: token)) } }
        func end(last: WallTime?) { entries.withLock { if !$0.isEmpty { $0[$0.count - 1].end = last } } }

        /// Presents the token. The gateway must accept it until its key expires and reject it afterwards. A call in
        /// flight at that moment may have either result.
        func present(_ index: Int, to client: RawClient) async throws {
            let token = all[index].token
            let sent = clock.clocks.wall()
            let status = try await client.call("GET", "/auth/whoami", token: token).status
            let end = all[index].end
            let answered = clock.clocks.wall()
            tally.withLock { tally in
                if status == 200 { tally.accepted += 1 } else { tally.refused += 1 }
                if status != 200, end.map({ answered < $0 }) ?? true { tally.falselyRefused += 1 }
                if status == 200, let end, sent >= end { tally.falselyAccepted += 1 }
            }
        }
    }

    @Test("The gateway rejects no token before its key expires and accepts none afterwards")
    func rotations() async throws {
        let count = TestRun.count(full: 100, otherwise: 6)
        let directory = try TestFiles()
        let file = "\(directory.path)/token-keys.yaml"
        let clock = ManualClock()
        var keys = try TokenKeysFile.load(file)
        try keys.rotate(now: clock.clocks.wall(), overlap: .zero, id: "k0")
        try keys.write()
        let book = Book(clock: clock)
        book.add(try IssuedTokens.alice(by: directory, now: clock.clocks.wall()))
        // The test sets the wall clock, which decides when keys expire. The gateway polls files in real time.
        let clocks = Clocks(monotonic: Clocks.system.monotonic, wall: clock.clocks.wall)
        try await ConfiguredGateway.run(
            "authenticators: [{ \(IssuedTokens.configuration) }]", in: directory,
            catalog: PluginCatalog([HMACTokenPlugin.self]), clocks: clocks
        ) { port in
            let client = try RawClient(port: port)
            let isOver = Flag()
            try await withThrowingTaskGroup(of: Void.self) { load in
                for number in 0..<4 {
                    load.addTask {
                        // The current token and the two before it.
                        var age = number % 3
                        while !isOver.isRaised {
                            try await book.present(max(0, book.all.count - 1 - age), to: client)
                            age = (age + 1) % 3
                        }
                    }
                }
                for number in 1...count { try await Self.rotate(file, number, book, client, directory) }
                isOver.raise()
                try await load.waitForAll()
            }
            for index in book.all.indices { try await book.present(index, to: client) }
        }
        let result = book.result
        print(
            "\(count) rotations: \(result.accepted) calls accepted, \(result.refused) rejected, \(result.falselyRefused) "
                + "of them wrongly, \(result.falselyAccepted) accepted after the expiry of their key")
        #expect(result.falselyRefused == 0)
        #expect(result.falselyAccepted == 0)
        #expect(result.accepted > 10 * count)
        #expect(result.refused >= count)
    }

    /// Adds a key, waits until the gateway uses it, and then lets the former key expire.
    private static func rotate(
        _ file: String, _ number: Int, _ book: Book, _ client: RawClient, _ directory: TestFiles
    ) async throws {
        var keys = try TokenKeysFile.load(file)
        let former = try #require(keys.keys.first).id
        try keys.rotate(now: book.clock.clocks.wall(), overlap: .seconds(30), id: "k\(number)")
        try keys.write()
        let token = try IssuedTokens.alice(by: directory, now: book.clock.clocks.wall())
        // The gateway has read the new key when it accepts the token.
        while try await client.call("GET", "/auth/whoami", token: token).status != 200 {}
        book.end(last: keys.keys.first { $0.id == former }?.notAfter)
        book.add(token)
        for index in [book.all.count - 1, book.all.count - 2] { try await book.present(index, to: client) }
        book.clock.advance(by: .seconds(32))
        for index in [book.all.count - 1, book.all.count - 2] { try await book.present(index, to: client) }
    }
}

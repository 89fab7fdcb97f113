import GatewayCore
import GatewayServer
import GatewayTesting
import HMACToken
import Synchronization
import Testing

/// Keys that come and go while tokens are being used.
@Suite("Rotating keys under load", .timeLimit(.minutes(10)))
struct KeyRotationTests {
    /// Tokens with the ends of their keys, as the test knows them, and what came of calls with them.
    private final class Book: Sendable {
        struct Entry {
            let token: String
            /// When its key ends; nil for the one that signs.
            var end: WallTime?
        }

        struct Tally {
            var accepted = 0
            var refused = 0
            /// Refused before the end of the key.
            var falselyRefused = 0
            /// Accepted after the end of the key.
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

        /// Presents the token, which must be taken until its key ends and not from then on. What is under way at that moment
        /// may go either way.
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

    @Test("no token is refused before its key ends, and none taken after")
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
        // The time of day is in the test's hand, so that keys end when it says; files are looked at in real time.
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
                        // The token of the day, yesterday's, and one from before.
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
            "\(count) rotations: \(result.accepted) calls taken, \(result.refused) refused, \(result.falselyRefused) of "
                + "them falsely, \(result.falselyAccepted) taken after the end of their key")
        #expect(result.falselyRefused == 0)
        #expect(result.falselyAccepted == 0)
        #expect(result.accepted > 10 * count)
        #expect(result.refused >= count)
    }

    /// A fresh key, which the gateway finds by itself; then the former one ends.
    private static func rotate(
        _ file: String, _ number: Int, _ book: Book, _ client: RawClient, _ directory: TestFiles
    ) async throws {
        var keys = try TokenKeysFile.load(file)
        let former = try #require(keys.keys.first).id
        try keys.rotate(now: book.clock.clocks.wall(), overlap: .seconds(30), id: "k\(number)")
        try keys.write()
        let token = try IssuedTokens.alice(by: directory, now: book.clock.clocks.wall())
        // Until the gateway has looked at the file.
        while try await client.call("GET", "/auth/whoami", token: token).status != 200 {}
        book.end(last: keys.keys.first { $0.id == former }?.notAfter)
        book.add(token)
        for index in [book.all.count - 1, book.all.count - 2] { try await book.present(index, to: client) }
        book.clock.advance(by: .seconds(32))
        for index in [book.all.count - 1, book.all.count - 2] { try await book.present(index, to: client) }
    }
}

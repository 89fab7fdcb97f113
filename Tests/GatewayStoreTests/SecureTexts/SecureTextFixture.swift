import GRDB
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

/// A store of texts in a directory of its own.
struct SecureTextFixture {
    static let alice = UserName(canonical: "alice")!
    static let bob = UserName(canonical: "bob")!
    static let now = WallTime(seconds: 1_795_000_000)
    static let file = "ledger.sqlite.texts"

    let directory: TemporaryDirectory
    let texts: StoredSecureTexts

    init(
        _ directory: TemporaryDirectory = TemporaryDirectory(),
        bounds: StoredSecureTexts.Bounds = StoredSecureTexts.Bounds(),
        randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) throws {
        self.directory = directory
        texts = try StoredSecureTexts(file: directory(Self.file), bounds: bounds, randomness: randomness)
    }

    /// Reserves a place for a text.
    func reserve(
        _ text: String = "hi", for owners: [UserName] = [bob], after delay: Int64 = 0, lifetime: Int64 = 3600
    ) throws -> SecureTextReservation {
        try texts.reserve(
            NewSecureText(
                text: text, owners: owners, delivery: WallTime(seconds: Self.now.seconds + delay),
                expiry: WallTime(seconds: Self.now.seconds + lifetime)))
    }

    /// Stores a text for one owner and returns its id.
    @discardableResult
    func store(
        _ text: String = "hi", for owner: UserName = bob, after delay: Int64 = 0, lifetime: Int64 = 3600
    ) async throws -> SecureID {
        let reservation = try reserve(text, for: [owner], after: delay, lifetime: lifetime)
        try await reservation.store()
        return try #require(reservation.places.first?.id)
    }

    /// Reads a text at a time after `now`.
    func read(_ id: SecureID?, as user: UserName = bob, after delay: Int64 = 0) async throws -> SecureText? {
        try await texts.text(id, of: user, now: WallTime(seconds: Self.now.seconds + delay))
    }

    /// Lists the unfetched ids at a time after `now`.
    func unfetched(
        of user: UserName = bob, since: Int64? = nil, limit: Int = 100, after delay: Int64 = 0
    ) async throws -> [SecureID] {
        try await texts.unfetched(
            by: user, since: since.map { WallTime(seconds: Self.now.seconds + $0) }, limit: limit,
            now: WallTime(seconds: Self.now.seconds + delay)
        ).map(\.id)
    }

    /// Waits until earlier changes are written.
    func flush() async throws { _ = try await texts.commits.write { _ in }.get() }
}

extension StoredSecureTexts {
    /// The connections to the SQLite file.
    var sqlite: DatabasePool {
        // All texts of these tests are in files.
        (storage as! SQLiteSecureTextFile).sqlite.pool
    }
}

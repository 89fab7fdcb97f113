import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite("Moving a ledger to another store", .timeLimit(.minutes(5)))
struct LedgerTransferTests {
    private typealias Fixture = LedgerFixture

    /// A ledger with rows in every table that the rules write, and texts of secure sends.
    private func filled() async throws -> (Fixture, SecureTextFixture) {
        let fixture = try Fixture()
        let account = Account(user: Fixture.alice, login: LoginName("alice@x"), authenticator: PluginName("ldap"))
        _ = try await fixture.create(Fixture.alice, Fixture.handle(1), given: Fixture.id(1))
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), by: account)
        try await fixture.update(Fixture.bob, Fixture.id(9), Fixture.handle(2), fresh: Fixture.id(2))
        // A handle that changes its owner, and an update of unknown outcome.
        try await fixture.update(Fixture.eve, Fixture.id(7), Fixture.handle(1), fresh: Fixture.id(1))
        let claim = try await fixture.ledger.begin(
            .update(user: Fixture.bob, label: Fixture.id(3), handle: Fixture.handle(3)), now: Fixture.noon)
        _ = try await fixture.ledger.prepare(Fixture.id(3), replacing: nil, for: claim, now: Fixture.noon)
        try await fixture.ledger.finish(claim, with: .unresolved(Fixture.id(3)), now: Fixture.noon)
        _ = try await fixture.ledger.importEntries(
            [
                ImportEntry(
                    id: Fixture.id(4), assessment: .rejected(handle: try Fixture.handle(4)), content: [1, 0, 2]),
                ImportEntry(
                    id: Fixture.id(5), assessment: .valid(owner: Fixture.bob, handle: try Fixture.handle(5)),
                    content: []),
            ], purging: true, now: Fixture.noon)
        try await fixture.ledger.recordImport(now: Fixture.noon)
        let register = try SessionRegister(fixture.ledger, clocks: Clocks.system)
        let now = Clocks.system.wall()
        let session = Session(
            id: SessionID(random: (7, 8)), user: Fixture.alice, login: LoginName("alice \"quoted\" \\ äöü 🎈"),
            authenticator: PluginName("oidc"), device: DeviceLabel("Alice's phone"), began: now,
            ends: now.adding(3_600_000_000), renewed: now,
            provider: ProviderLogin(issuer: "https://id.example", subject: "alice \"quoted\" \\ äöü 🎈", session: "s1"))
        #expect(try await register.start(session, since: register.epoch))
        try await register.revoke(token: "t1", of: Fixture.bob, until: now.adding(3_600_000_000))
        let fingerprint = try #require(AccountFingerprint(Array(0..<16)))
        try await register.reconcile(
            AccountChanges(from: [:], to: [Fixture.eve: fingerprint]), of: PluginName("static"))
        try await register.revoke(Fixture.eve)
        let texts = try SecureTextFixture(fixture.directory)
        try await texts.store("hello \"bob\"")
        return (fixture, texts)
    }

    /// The lines of an export.
    private func lines(_ ledger: StoredLedger, _ texts: StoredSecureTexts?) throws -> [[UInt8]] {
        var lines: [[UInt8]] = []
        _ = try LedgerExport(ledger, texts).run { lines.append($0) }
        return lines
    }

    /// Stores lines in a ledger.
    @discardableResult
    private func store(_ lines: [[UInt8]], in ledger: StoredLedger, _ texts: StoredSecureTexts?) throws -> Int {
        var rest = lines[...]
        let next = { () -> [UInt8]? in rest.popFirst().map { Array($0.dropLast()) } }
        return try LedgerImport(ledger, texts).run(next)
    }

    /// A ledger without rows, with the keys of another one.
    private func empty(_ kind: StoreKind, keysOf directory: TemporaryDirectory) throws -> (Fixture, SecureTextFixture) {
        let fresh = TemporaryDirectory()
        try PrivateFiles.makeDirectory(fresh.path)
        for name in ["ledger.sqlite.key", "ledger.sqlite.texts.key"] {
            try PrivateFiles.write(try directory.bytes(name), toNew: fresh(name))
        }
        return try StoreKind.$current.withValue(kind) { (try Fixture(fresh), try SecureTextFixture(fresh)) }
    }

    @Test(
        "From each kind of store to each other one, the export stays the same",
        arguments: [(StoreKind.sqlite, StoreKind.postgreSQL), (.postgreSQL, .sqlite), (.postgreSQL, .postgreSQL)])
    func roundTrip(from source: StoreKind, to target: StoreKind) async throws {
        guard PostgreSQLServer.isInstalled else { return }
        let (fixture, texts) = try await StoreKind.$current.withValue(source) { try await filled() }
        let exported = try lines(fixture.ledger, texts.texts)
        let text = exported.map { String(decoding: $0, as: UTF8.self) }
        for table in TransferTable.ledger where table.name != "provider_logout" && table.name != "label" {
            #expect(text.contains { $0.hasPrefix("{\"\(table.name)\"") }, "no row of \(table.name)")
        }
        #expect(text.contains { $0.hasPrefix("{\"text\"") })
        let (copy, copiedTexts) = try empty(target, keysOf: fixture.directory)
        #expect(try store(exported, in: copy.ledger, copiedTexts.texts) > 10)
        #expect(try lines(copy.ledger, copiedTexts.texts) == exported)
        #expect(try await copy.content() == fixture.content())
    }

    @Test(
        "An export that is cut, changed or of another key is rejected, and stores nothing",
        arguments: StoreKind.allCases)
    func rejected(_ kind: StoreKind) async throws {
        guard kind == .sqlite || PostgreSQLServer.isInstalled else { return }
        let (fixture, texts) = try await filled()
        let exported = try lines(fixture.ledger, texts.texts)
        let (copy, copiedTexts) = try empty(kind, keysOf: fixture.directory)
        let untouched = try lines(copy.ledger, copiedTexts.texts)
        func expectRejection(_ lines: [[UInt8]], _ reason: String) throws {
            let error = #expect(throws: LedgerUnavailable.self) {
                try store(lines, in: copy.ledger, copiedTexts.texts)
            }
            #expect(error?.detail.contains(reason) == true, "\(error?.detail ?? "")")
            #expect(try self.lines(copy.ledger, copiedTexts.texts) == untouched)
        }
        try expectRejection([], "incomplete")
        try expectRejection(Array(exported.dropLast()), "incomplete")
        try expectRejection(Array(exported.prefix(4)), "incomplete")
        try expectRejection(Array(exported.prefix(4) + exported.dropFirst(5)), "lines of")
        try expectRejection(Array(exported.dropFirst()), "not an export")
        var changed = exported
        changed[5] = Array("{\"session\":{\"id\":1}}\n".utf8)
        try expectRejection(changed, "line 6")
        changed[5] = Array("not JSON\n".utf8)
        try expectRejection(changed, "line 6")
        let (other, otherTexts) = try empty(kind, keysOf: try Fixture().directory.withTextKey())
        let wrongKey = #expect(throws: LedgerUnavailable.self) {
            try store(exported, in: other.ledger, otherTexts.texts)
        }
        #expect(wrongKey?.detail.contains("another key") == true)
        try store(exported, in: copy.ledger, copiedTexts.texts)
        let full = #expect(throws: LedgerUnavailable.self) { try store(exported, in: copy.ledger, copiedTexts.texts) }
        #expect(full?.detail.contains("not empty") == true)
        #expect(try lines(copy.ledger, copiedTexts.texts) == exported)
    }

    @Test("A file of an export is private, complete or absent")
    func files() throws {
        let directory = TemporaryDirectory()
        try PrivateFiles.makeDirectory(directory.path)
        let file = directory("export.jsonl")
        struct Fault: Error {}
        #expect(throws: Fault.self) {
            try TransferFile.write(file) { write in
                try write(Array("one\n".utf8))
                throw Fault()
            }
        }
        #expect(try directory.names().isEmpty)
        try TransferFile.write(file) { write in for number in 0..<20_000 { try write(Array("line \(number)\n".utf8)) } }
        #expect(try directory.names() == ["export.jsonl"])
        #expect(throws: LedgerUnavailable.self) { try TransferFile.write(file) { _ in } }
        let count = try TransferFile.read(file) { next in
            var count = 0
            while let line = try next() {
                #expect(line == Array("line \(count)".utf8))
                count += 1
            }
            return count
        }
        #expect(count == 20_000)
    }
}

extension TemporaryDirectory {
    /// The directory with a key of texts of its own.
    fileprivate func withTextKey() throws -> TemporaryDirectory {
        try PrivateFiles.write([UInt8](repeating: 9, count: KeyFile.byteCount), toNew: self("ledger.sqlite.texts.key"))
        return self
    }
}

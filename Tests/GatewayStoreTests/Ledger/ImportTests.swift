import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

extension StoredLedger {
    /// Imports entries of which all or none are purged. Expects that the preview has the same results.
    func importEntries(
        _ entries: [ImportEntry], purging: Bool, confirming: Bool = false, now: WallTime
    ) async throws(LedgerUnavailable) -> [ImportResult] {
        let entries = entries.map {
            ImportEntry(id: $0.id, assessment: $0.assessment, content: $0.content, isPurged: purging)
        }
        let preview = try await importResults(of: entries, confirming: confirming)
        let results = try await importEntries(entries, confirming: confirming, now: now)
        // Only the first of several entries with one id or handle is bound or purged.
        for (index, result) in results.enumerated() where result != preview[index] {
            #expect(result == .alreadyHandled && entries[..<index].contains { $0.id == entries[index].id })
        }
        return results
    }
}

@Suite("Imported registrations in the ledger", .overEachStore) struct ImportTests {
    private func entry(
        _ number: Int, of owner: UserName? = LedgerFixture.alice, _ handle: DeviceHandle?, content: String = ""
    ) -> ImportEntry {
        let assessment: ImportEntry.Assessment
        if let owner, let handle {
            assessment = .valid(owner: owner, handle: handle)
        } else {
            assessment = .rejected(handle: handle)
        }
        return ImportEntry(
            id: LedgerFixture.id(number), assessment: assessment, content: Array("\(number)\(content)".utf8))
    }

    @Test("A valid registration belongs to its owner, as if registered through the gateway")
    func bound() async throws {
        let fixture = try LedgerFixture()
        #expect(try await fixture.ledger.migration() == .notImported)
        let verdicts = try await fixture.ledger.importEntries(
            [entry(1, LedgerFixture.handle(1)), entry(2, of: nil, LedgerFixture.handle(2))], purging: false,
            now: LedgerFixture.noon)
        #expect(verdicts == [.bound, .rejected])
        try await fixture.ledger.recordImport(now: LedgerFixture.noon)
        #expect(try await fixture.ledger.migration() == .imported(rejected: 1, unconfirmed: 1))
        if StoreKind.current == .sqlite {
            #expect(try StoredLedger.migration(inFile: fixture.ledger.file) == .imported(rejected: 1, unconfirmed: 1))
        }
        let own = try await fixture.ledger.begin(
            .update(user: LedgerFixture.alice, label: LedgerFixture.id(9), handle: LedgerFixture.handle(1)),
            now: LedgerFixture.noon)
        #expect(own.decision == .own(LedgerFixture.id(1)))
        let delete = try await fixture.ledger.begin(
            .delete(user: LedgerFixture.alice, label: LedgerFixture.id(2)), now: LedgerFixture.noon)
        #expect(delete.decision == .notOwned)
    }

    @Test("A second import changes nothing, and does not restore deleted registrations")
    func again() async throws {
        let fixture = try LedgerFixture()
        let entries = try [
            entry(1, LedgerFixture.handle(1)), entry(2, of: nil, LedgerFixture.handle(2)), entry(3, of: nil, nil),
        ]
        for expected: [ImportResult] in [
            [.bound, .purged, .purged], [.alreadyHandled, .alreadyHandled, .alreadyHandled],
        ] {
            #expect(try await fixture.ledger.importEntries(entries, purging: true, now: LedgerFixture.noon) == expected)
        }
        for number in 2...3 { try await sweep(fixture, number) }
        let owned = try await fixture.ledger.begin(
            .delete(user: LedgerFixture.alice, label: LedgerFixture.id(1)), now: LedgerFixture.noon)
        try await fixture.ledger.finish(owned, with: .deleted(LedgerFixture.id(1)), now: LedgerFixture.noon)
        #expect(
            try await fixture.ledger.importEntries(entries, purging: true, now: LedgerFixture.noon) == [
                .alreadyHandled, .alreadyHandled, .alreadyHandled,
            ])
        #expect(try await fixture.ledger.allRegistrations().isEmpty)
        #expect(try await fixture.ledger.pendingDeletion(limit: 9).isEmpty)
        // Another export that contains one of them again has other content.
        let back = try [entry(2, of: nil, LedgerFixture.handle(2), content: "anew")]
        #expect(try await fixture.ledger.importEntries(back, purging: true, now: LedgerFixture.noon) == [.purged])
    }

    private func sweep(_ fixture: LedgerFixture, _ number: Int) async throws {
        let claim = try await fixture.ledger.begin(.sweep(LedgerFixture.id(number)), now: LedgerFixture.noon)
        #expect(claim.decision == .pendingDeletion(LedgerFixture.id(number), owner: nil, because: .rejectedImport))
        try await fixture.ledger.finish(claim, with: .deleted(LedgerFixture.id(number)), now: LedgerFixture.noon)
    }

    @Test("A rejected registration is marked by a later import that purges, and swept until it is deleted")
    func purged() async throws {
        let fixture = try LedgerFixture()
        let entries = try [entry(1, of: nil, LedgerFixture.handle(1)), entry(2, of: nil, LedgerFixture.handle(1))]
        #expect(
            try await fixture.ledger.importEntries(entries, purging: false, now: LedgerFixture.noon) == [
                .rejected, .rejected,
            ])
        #expect(try await fixture.ledger.pendingDeletion(limit: 9).isEmpty)
        #expect(
            try await fixture.ledger.importEntries(entries, purging: true, now: LedgerFixture.noon) == [
                .purged, .purged,
            ])
        try await fixture.ledger.recordImport(now: LedgerFixture.noon)
        #expect(try await fixture.ledger.migration() == .imported(rejected: 0))
        #expect(try await fixture.ledger.pendingDeletion(limit: 9) == [LedgerFixture.id(1), LedgerFixture.id(2)])
        // A registration that the backend did not delete stays marked.
        let claim = try await fixture.ledger.begin(.sweep(LedgerFixture.id(1)), now: LedgerFixture.noon)
        try await fixture.ledger.finish(claim, with: .deleting(LedgerFixture.id(1)), now: LedgerFixture.noon)
        #expect(try await fixture.ledger.pendingDeletion(limit: 9) == [LedgerFixture.id(1), LedgerFixture.id(2)])
        for number in 1...2 { try await sweep(fixture, number) }
        #expect(try await fixture.ledger.pendingDeletion(limit: 9).isEmpty)
        let gone = try await fixture.ledger.begin(.sweep(LedgerFixture.id(1)), now: LedgerFixture.noon)
        #expect(gone.decision == .notMarked)
    }

    @Test("The gateway's data is newer than any export")
    func newer() async throws {
        let fixture = try LedgerFixture()
        _ = try await fixture.ledger.importEntries(
            [entry(1, LedgerFixture.handle(1))], purging: false, now: LedgerFixture.noon)
        // The id belongs to bob by now. The handle has a second registration, which is valid by itself.
        let taken = try await fixture.ledger.begin(
            .update(user: LedgerFixture.bob, label: LedgerFixture.id(1), handle: LedgerFixture.handle(1)),
            now: LedgerFixture.noon)
        #expect(taken.decision == .ownershipTransfer(LedgerFixture.id(1), from: LedgerFixture.alice))
        try await fixture.ledger.finish(
            taken, with: .registered(LedgerFixture.id(1), replacing: nil), now: LedgerFixture.noon)
        let entries = try [
            entry(1, LedgerFixture.handle(1)), entry(1, of: nil, LedgerFixture.handle(1), content: "x"),
            entry(2, LedgerFixture.handle(1)),
        ]
        #expect(
            try await fixture.ledger.importEntries(entries, purging: false, now: LedgerFixture.noon) == [
                .alreadyHandled, .alreadyHandled, .superseded,
            ])
        try await fixture.ledger.recordImport(now: LedgerFixture.noon)
        #expect(try await fixture.ledger.migration() == .imported(rejected: 1))
        #expect(
            try await fixture.ledger.importEntries(entries, purging: true, now: LedgerFixture.noon) == [
                .alreadyHandled, .alreadyHandled, .purged,
            ])
        #expect(try await fixture.ledger.registrations(of: LedgerFixture.bob).map(\.id) == [LedgerFixture.id(1)])
        #expect(try await fixture.ledger.pendingDeletion(limit: 9) == [LedgerFixture.id(2)])
    }

    @Test("A device that registers again under the id is kept; during the deletion the device waits")
    func notMarked() async throws {
        let fixture = try LedgerFixture()
        _ = try await fixture.ledger.importEntries(
            [entry(1, of: nil, LedgerFixture.handle(1))], purging: true, now: LedgerFixture.noon)
        let sweep = try await fixture.ledger.begin(.sweep(LedgerFixture.id(1)), now: LedgerFixture.noon)
        let update = try LedgerRequest.update(
            user: LedgerFixture.alice, label: LedgerFixture.id(9), handle: LedgerFixture.handle(1))
        let (began, begin) = AsyncStream<Void>.makeStream()
        let waiting = Task {
            begin.finish()
            let claim = try await fixture.ledger.begin(update, now: LedgerFixture.noon)
            try await fixture.ledger.finish(
                claim, with: .registered(LedgerFixture.id(1), replacing: nil), now: LedgerFixture.noon)
        }
        for await _ in began {}
        try await fixture.untilWaiting(1)
        // The registration was not deleted; the device's call comes first now.
        try await fixture.ledger.finish(sweep, with: .deleting(LedgerFixture.id(1)), now: LedgerFixture.noon)
        try await waiting.value
        #expect(try await fixture.ledger.pendingDeletion(limit: 9).isEmpty)
        let notMarked = try await fixture.ledger.begin(.sweep(LedgerFixture.id(1)), now: LedgerFixture.noon)
        #expect(notMarked.decision == .notMarked)
        #expect(try await fixture.ledger.registrations(of: LedgerFixture.alice).map(\.state) == [.live])
    }
}

import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Exports that were changed")
struct ChangedExportTests {
    /// Returns the lines of an export with registrations, and an empty ledger with the same key.
    private func export() async throws -> (lines: [[UInt8]], target: Fixture) {
        let source = try Fixture()
        for number in 1...3 {
            try await source.update(
                Fixture.alice, Fixture.id(number), Fixture.handle(number), fresh: Fixture.id(number))
        }
        var lines: [[UInt8]] = []
        _ = try LedgerExport(source.ledger, nil).run { lines.append($0.dropLast()) }
        let directory = TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        // The directory of the source is removed with it.
        try withExtendedLifetime(source) {
            try FileManager.default.copyItem(
                atPath: source.directory("ledger.sqlite.key"), toPath: directory("ledger.sqlite.key"))
        }
        return (lines, try Fixture(directory))
    }

    private func load(_ lines: [[UInt8]], _ fixture: Fixture, texts: StoredSecureTexts? = nil) throws -> Int {
        var rest = lines[...]
        return try LedgerImport(fixture.ledger, texts).run { rest.popFirst() }
    }

    @Test("An export with one changed letter of a user's name stores nothing")
    func changedLetter() async throws {
        let (lines, target) = try await export()
        var changed = lines
        let row = try #require(lines.firstIndex { String(decoding: $0, as: UTF8.self).contains("\"owner\":\"alice\"") })
        changed[row] = Array(
            String(decoding: lines[row], as: UTF8.self).replacing("\"owner\":\"alice\"", with: "\"owner\":\"alicf\"")
                .utf8)
        #expect(throws: LedgerUnavailable.self) { try load(changed, target) }
        #expect(throws: LedgerUnavailable.self) { try load(Array(lines.dropLast()), target) }
        #expect(try await target.ledger.registrationCounts().allSatisfy { $0.count == 0 })
        #expect(try load(lines, target) == 3)
    }

    @Test("An import that is rejected keeps the texts of the store")
    func keptTexts() async throws {
        let (lines, target) = try await export()
        let texts = try SecureTextFixture()
        let id = try await texts.store("hi")
        #expect(throws: LedgerUnavailable.self) { try load(lines, target, texts: texts.texts) }
        #expect(try await texts.read(id)?.text == "hi")
    }
}

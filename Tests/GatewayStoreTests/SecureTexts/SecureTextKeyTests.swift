import Foundation
import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayStore

private typealias Fixture = SecureTextFixture

@Suite("The key of the texts of secure sends", .timeLimit(.minutes(5)))
struct SecureTextKeyTests {
    /// Returns a closed store with one text, and the id.
    private func closedStore() async throws -> (TemporaryDirectory, SecureID) {
        let fixture = try SecureTextFixture()
        let id = try await fixture.store("old")
        try fixture.texts.close()
        return (fixture.directory, id)
    }

    @Test("Texts under another key are absent, are reported, and can be read again with their key")
    func anotherKey() async throws {
        let (directory, id) = try await closedStore()
        let key = try directory.bytes(Fixture.file + ".key")
        #expect(try StoredSecureTexts.keyProblem(inFile: directory(Fixture.file)) == nil)
        try directory.write(Array(repeating: 9, count: 32), to: Fixture.file + ".key")
        let said = try #require(try StoredSecureTexts.keyProblem(inFile: directory(Fixture.file)))
        #expect(said.hasPrefix("1 texts of secure notifications in ") && said.contains("another key"))
        let fixture = try SecureTextFixture(directory)
        #expect(fixture.texts.keyProblem == said && fixture.texts.unreadable == 1)
        #expect(try await fixture.read(id) == nil)
        #expect(try await fixture.unfetched().isEmpty)
        let new = try await fixture.store("new")
        #expect(try await fixture.read(new)?.text == "new")
        // Also while the store is open.
        #expect(try StoredSecureTexts.keyProblem(inFile: directory(Fixture.file)) == said)
        try fixture.texts.close()
        try directory.write(key, to: Fixture.file + ".key")
        let again = try SecureTextFixture(directory)
        #expect(try await again.read(id)?.text == "old")
        #expect(try await again.read(new) == nil && again.texts.unreadable == 1)
    }

    @Test("Without its key a store is opened with a new one, and says that nothing can be read")
    func missingKey() async throws {
        let (directory, id) = try await closedStore()
        try FileManager.default.removeItem(atPath: directory(Fixture.file + ".key"))
        #expect(try StoredSecureTexts.keyProblem(inFile: directory(Fixture.file)) != nil)
        #expect(try directory.names().contains(Fixture.file + ".key") == false)
        let fixture = try SecureTextFixture(directory)
        #expect(try await fixture.read(id) == nil && fixture.texts.unreadable == 1)
    }

    @Test("No file is no problem, and one that is no database says so")
    func otherFiles() throws {
        let directory = TemporaryDirectory()
        #expect(try StoredSecureTexts.keyProblem(inFile: directory(Fixture.file)) == nil)
        try PrivateFiles.makeDirectory(directory.path)
        try PrivateFiles.write(Array(repeating: 65, count: 8192), toNew: directory(Fixture.file))
        #expect(throws: LedgerUnavailable.self) { try SecureTextFixture(directory) }
        #expect(throws: LedgerUnavailable.self) {
            try StoredSecureTexts.keyProblem(inFile: directory(Fixture.file))
        }
    }

    @Test("One process at a time has the store open")
    func lock() async throws {
        let fixture = try SecureTextFixture()
        #expect(throws: LedgerUnavailable.self) { try SecureTextFixture(fixture.directory) }
        try fixture.texts.close()
        _ = try SecureTextFixture(fixture.directory)
    }

    @Test("A copy of the texts has what was stored, and a ledger without texts has none")
    func snapshot() async throws {
        let fixture = try SecureTextFixture()
        let id = try await fixture.store("copied")
        let copy = TemporaryDirectory()
        try PrivateFiles.makeDirectory(copy.path)
        #expect(
            try LedgerSnapshot.writeTexts(
                ofLedger: fixture.directory("ledger.sqlite"), to: copy("ledger.sqlite.texts")) == 1)
        try FileManager.default.copyItem(
            atPath: fixture.directory("ledger.sqlite.texts.key"), toPath: copy("ledger.sqlite.texts.key"))
        #expect(try copy.mode("ledger.sqlite.texts") == 0o600)
        #expect(try await SecureTextFixture(copy).read(id)?.text == "copied")
        #expect(try LedgerSnapshot.writeTexts(ofLedger: copy("other.sqlite"), to: copy("none")) == nil)
        #expect(try !copy.names().contains("none"))
    }
}

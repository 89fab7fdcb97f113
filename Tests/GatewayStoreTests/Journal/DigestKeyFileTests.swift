import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("The key of the journal's digests")
struct DigestKeyFileTests {
    private let place = TemporaryDirectory()

    init() throws { try PrivateFiles.makeDirectory(place("journal")) }

    private func open() throws -> (key: Secret, warning: String?) {
        try DigestKeyFile.loadOrCreate(ledger: place("ledger.sqlite"), journal: place("journal"))
    }

    private func put(_ byte: UInt8, _ name: String) throws {
        try PrivateFiles.write([UInt8](repeating: byte, count: 32), toNew: place(name))
    }

    @Test("A new key is created beside the ledger's with mode 0600, and stays the same")
    func new() throws {
        let key = try open().key
        #expect(try place.mode("ledger.sqlite.digest.key") == 0o600)
        #expect(try open().key.isEqual(to: key))
        #expect(try FileManager.default.contentsOfDirectory(atPath: place("journal")).isEmpty)
    }

    @Test(
        "A key in the journal's directory is moved, even after a move that crashed", arguments: [false, true])
    func moved(wasCopied: Bool) throws {
        try put(7, "journal/digest.key")
        if wasCopied { try put(7, "ledger.sqlite.digest.key") }
        // Left by an attempt that crashed.
        try place.write([1, 2, 3], to: "ledger.sqlite.digest.key.new")
        let found = try open()
        #expect(found.key.isEqual(to: Secret([UInt8](repeating: 7, count: 32))))
        #expect(found.warning == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place("journal")).isEmpty)
        #expect(try place.mode("ledger.sqlite.digest.key") == 0o600)
        #expect(try open().key.isEqual(to: found.key))
    }

    @Test("A missing key is not created for a journal with records")
    func missing() throws {
        try place.write([], to: "journal/\(JournalSegmentName(first: 1).text)")
        #expect { try open() } throws: { "\($0)".contains("put the file back from a backup") }
        #expect(!FileManager.default.fileExists(atPath: place("ledger.sqlite.digest.key")))
        try put(7, "ledger.sqlite.digest.key")
        #expect(try open().warning == nil)
    }

    @Test("A different key in the journal's directory is kept and ignored")
    func foreign() throws {
        try put(7, "ledger.sqlite.digest.key")
        try put(8, "journal/digest.key")
        let found = try open()
        #expect(found.key.isEqual(to: Secret([UInt8](repeating: 7, count: 32))))
        #expect(found.warning?.contains("is ignored") == true)
        #expect(FileManager.default.fileExists(atPath: place("journal/digest.key")))
    }

    @Test("A truncated key, or one that others may read, is rejected and kept")
    func unfit() throws {
        try place.write([1, 2, 3], to: "journal/digest.key")
        #expect(chmod(place("journal/digest.key"), 0o600) == 0)
        #expect(throws: KeyFile.Failure.self) { try open() }
        try FileManager.default.removeItem(atPath: place("journal/digest.key"))
        try put(7, "journal/digest.key")
        #expect(chmod(place("journal/digest.key"), 0o644) == 0)
        #expect(throws: KeyFile.Failure.self) { try open() }
        #expect(!FileManager.default.fileExists(atPath: place("ledger.sqlite.digest.key")))
    }
}

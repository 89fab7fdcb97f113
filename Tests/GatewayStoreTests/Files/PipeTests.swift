import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

/// The service's user can make FIFOs in the directories of the stores, which commands of root read.
@Suite("FIFOs in place of files")
struct PipeTests {
    private let place = TemporaryDirectory()

    init() throws { try PrivateFiles.makeDirectory(place.path) }

    /// Runs `work` with a FIFO at the path, and checks that it throws without waiting for the other end.
    private func refuses(_ name: String, _ work: () throws -> Void) throws {
        let path = place(name)
        #expect(mkfifo(path, 0o600) == 0)
        // Ends the wait of an `open` that blocks, so that the test fails and does not hang.
        let rescue = Thread {
            Thread.sleep(forTimeInterval: 5)
            for mode in [O_WRONLY, O_RDONLY] {
                let descriptor = open(path, mode | O_NONBLOCK)
                if descriptor >= 0 { close(descriptor) }
            }
        }
        rescue.start()
        let start = ContinuousClock.now
        let failure = #expect(throws: (any Error).self) { try work() }
        #expect(ContinuousClock.now - start < .seconds(4), "\(name)")
        #expect("\(failure.map { "\($0)" } ?? "")".contains("is not a regular file"), "\(name)")
    }

    @Test("The lock of a ledger")
    func ledgerLock() throws {
        try place.write([], to: "ledger.sqlite")
        try refuses("ledger.sqlite.lock") { _ = try LedgerCopy(of: place("ledger.sqlite")) }
        #expect(LedgerCopy.isOpen(place("ledger.sqlite")))
    }

    @Test("A store, its lock and a key", arguments: ["read", "lock", "copy", "key", "made"])
    func files(use: String) throws {
        try refuses(use) {
            let path = place(use)
            switch use {
            case "read": _ = try SystemFileSystem().read(path)
            case "lock": _ = try LockFile(path)
            case "copy":
                let copy = try PrivateCopy()
                defer { copy.remove() }
                try copy.add(path, as: "copy")
            case "key": _ = try KeyFile.open(path)
            default: _ = try PrivateFiles.makeFile(path)
            }
        }
    }

    @Test("The key of the journal's digests, a segment, and the file of checkpoints")
    func journal() throws {
        try refuses("ledger.sqlite.digest.key") {
            _ = try DigestKeyFile.loadOrCreate(ledger: place("ledger.sqlite"), journal: place.path)
        }
        try refuses("segment") { _ = try SegmentReader(place("segment")) }
        try refuses("cut") { try SystemFileSystem().truncateDurably(place("cut"), to: 0) }
        try refuses("checkpoints") { try CheckpointFile(path: place("checkpoints")).store([10]) }
    }
}

internal import Foundation
internal import GRDB
public import GatewayCore

extension SQLiteLedger {
    /// Why the ledger cannot be used at present; nil where nothing is known to be wrong. Takes a lock for a moment.
    public var fault: String? { health.fault }

    /// Writes something that means nothing, durably, to find out whether the ledger can be written. Does nothing where the last
    /// such test has not ended.
    public func testWrite() async {
        guard health.beginTest() else { return }
        _ = await check()
        health.endTest()
    }

    /// Looks whether the ledger can be written, by a commit that changes nothing else. Returns why it cannot; does not return while
    /// the disk takes no write.
    public func check() async -> LedgerUnavailable? {
        switch await commits.write(isTest: true, { try $0.noteTestWrite() }) {
        case .success: nil
        case .failure(let failure): failure
        }
    }

    /// Throws unless a change would be written, as far as can be known before.
    ///
    /// The backend is asked after this and the ledger is changed after that: where no commit has succeeded of late, one is tried
    /// first.
    func requireWritable() async throws(LedgerUnavailable) {
        if let fault = health.fault { throw LedgerUnavailable("the ledger is out of order: \(fault)") }
        if health.isProvenWritable { return }
        if let failure = await check() { throw failure }
    }

    /// Reads the whole file and compares tables with their indexes, on a connection and a thread of its own.
    ///
    /// What it finds counts from then on: `fault` says so, and whoever wants to change a registration is refused. It may take
    /// seconds for a million registrations, and ends early where its task is cancelled.
    ///
    /// - Returns: what is damaged; nil where nothing is.
    public func checkIntegrity() async throws(LedgerUnavailable) -> String? {
        let check = LedgerCheck(file: file, depth: .whole)
        let result: Result<String?, LedgerUnavailable> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    continuation.resume(
                        returning: Result { try check.run() }.mapError(LedgerUnavailable.init(describing:)))
                }
                thread.name = "ledger-check"
                thread.start()
            }
        } onCancel: {
            check.cancel()
        }
        let damage = try result.get()
        if let damage { health.found(damage: damage) }
        return damage
    }

    /// Reads the whole of a ledger that may be open elsewhere. Blocks.
    ///
    /// - Returns: what is damaged; nil where nothing is, and where there is no ledger yet.
    public static func damage(inFile file: String) throws(LedgerUnavailable) -> String? {
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        // A ledger that nobody has open is read from a copy: SQLite would make files beside it.
        let copy = LedgerCopy.isOpen(file) ? nil : try LedgerCopy(of: file)
        defer { copy?.remove() }
        do {
            return try LedgerCheck(file: copy?.file ?? file, depth: .pages).run()
        } catch {
            throw .init(describing: error)
        }
    }
}

extension LedgerTables {
    func noteTestWrite() throws {
        try execute(
            sql: """
                INSERT INTO property (name, value) VALUES ('test-write', ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                """,
            arguments: [Data("\(Clocks.system.wall())".utf8)])
    }
}

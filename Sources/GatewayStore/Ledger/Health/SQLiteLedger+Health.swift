internal import Foundation
internal import GRDB
public import GatewayCore
internal import GatewaySupport

extension SQLiteLedger {
    /// The reason why the ledger cannot be used; nil if no problem is known. Acquires a lock briefly.
    public var fault: String? { health.fault }

    /// Writes a test value durably to find out whether the ledger can be written. Has no effect while an earlier test
    /// is running.
    public func testWrite() async {
        guard health.beginTest() else { return }
        _ = await check()
        health.finishTest()
    }

    /// Checks by a test commit that the ledger can be written.
    ///
    /// - Returns: The reason why it cannot be written; nil if it can. Does not return while the disk blocks writes.
    public func check() async -> LedgerUnavailable? {
        switch await commits.write(isTest: true, { try $0.recordTestWrite() }) {
        case .success: nil
        case .failure(let failure): failure
        }
    }

    /// Throws unless the next change is expected to succeed.
    ///
    /// Called before the backend is called, because the ledger is changed only afterwards. Makes a test commit if no
    /// commit has succeeded recently.
    func requireWritable() async throws(LedgerUnavailable) {
        if let fault = health.fault { throw LedgerUnavailable("the ledger is unavailable: \(fault)") }
        if health.isProvenWritable { return }
        if let failure = await check() { throw failure }
    }

    /// Reads the whole file and compares tables with their indexes, on a separate connection and thread.
    ///
    /// Damage found here is permanent: `fault` reports it and changes of registrations are rejected. A million
    /// registrations may take seconds. Cancelling the task stops the check early.
    ///
    /// - Returns: A description of the damage; nil without damage.
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
        if let damage { health.recordDamage(damage) }
        return damage
    }

    /// Checks a whole ledger that another process may have open. Blocks.
    ///
    /// - Returns: A description of the damage; nil without damage, and if the ledger does not exist.
    public static func damage(inFile file: String) throws(LedgerUnavailable) -> String? {
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        // A ledger that is not open is read from a copy, because SQLite would create files beside it.
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
    /// Stores the present time as the property `test-write`, so that the commit writes to the file.
    func recordTestWrite() throws {
        try execute(
            sql: """
                INSERT INTO property (name, value) VALUES ('test-write', ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                """,
            arguments: [Data("\(Clocks.system.wall())".utf8)])
    }
}

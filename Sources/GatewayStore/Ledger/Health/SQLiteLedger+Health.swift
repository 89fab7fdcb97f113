internal import Foundation
internal import GRDB
public import GatewayCore
internal import GatewaySupport

extension SQLiteLedger {
    /// The reason why the ledger cannot be used; nil if no problem is known. Acquires a lock briefly.
    public var fault: String? { health.fault }

    /// Makes a test commit and records the result, which `fault` reports. While a test runs for more than five seconds,
    /// `fault` reports that too. Does nothing while an earlier test is running.
    public func testWrite() async {
        guard health.beginTest() else { return }
        _ = await check()
        health.finishTest()
    }

    /// Checks by a test commit that the ledger can be written.
    ///
    /// - Returns: The reason why it cannot be written; nil if it can. Does not return while the disk hangs; has no
    ///   timeout.
    public func check() async -> LedgerUnavailable? {
        switch await commits.write(isTest: true, { try $0.storeTestValue() }) {
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
    /// Once damage is found, `fault` reports it until the ledger is opened again, and changes of registrations are
    /// rejected. Takes some seconds for a million registrations. Cancelling the task stops the check early.
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

    /// Checks every page and row format of a ledger file, but not its indexes. Another process may have the file open.
    /// Blocks.
    ///
    /// - Returns: A description of the damage; nil if there is no damage or no such file.
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
    /// Stores the current time in the property `test-write`, so that the test commit really writes to the file.
    func storeTestValue() throws {
        try execute(
            sql: """
                INSERT INTO property (name, value) VALUES ('test-write', ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                """,
            arguments: [Data("\(Clocks.system.wall())".utf8)])
    }
}

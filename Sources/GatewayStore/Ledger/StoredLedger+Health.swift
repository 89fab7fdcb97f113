public import GatewayCore
internal import GatewaySupport

extension StoredLedger {
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

    /// Compares the tables with their indexes, on a separate connection and thread.
    ///
    /// Once damage is found, `fault` reports it until the ledger is opened again, and changes of registrations are
    /// rejected. Takes some seconds for a million registrations. Cancelling the task stops the check early.
    ///
    /// - Returns: A description of the damage; nil without damage.
    public func checkIntegrity() async throws(LedgerUnavailable) -> String? {
        let damage = try await storage.checkIntegrity()
        if let damage { health.recordDamage(damage) }
        return damage
    }
}

extension LedgerTables {
    /// Stores the current time in the property `test-write`, so that the test commit really writes to the database.
    func storeTestValue() throws { try store(property: "test-write", "\(Clocks.system.wall())") }
}

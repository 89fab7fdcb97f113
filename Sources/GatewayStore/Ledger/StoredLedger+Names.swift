public import GatewayCore

extension StoredLedger {
    /// Returns the stored form of the rules that formed the ledger's user names; nil if none is stored. Blocks; called
    /// at startup.
    public func nameRules() throws(LedgerUnavailable) -> String? {
        try database.readTables { (tables: LedgerTables) in try tables.nameRules() }
    }

    /// Stores the rules that form user names from now on. Blocks; called at startup.
    public func storeNameRules(_ storedForm: String) throws(LedgerUnavailable) {
        try database.writeTables { (tables: LedgerTables) in
            try tables.store(property: "name-rules", storedForm)
        }
    }

    /// Returns the owners of all registrations, including reservations, sorted. Blocks; called at startup.
    public func owners() throws(LedgerUnavailable) -> [UserName] {
        try database.readTables { (tables: LedgerTables) in try tables.owners() }
    }
}

extension LedgerTables {
    /// Returns the stored form of the rules that formed the user names; nil if none is stored.
    func nameRules() throws -> String? {
        try property("name-rules")
    }

    /// Returns the owners of all registrations, including reservations, sorted.
    func owners() throws -> [UserName] {
        try rows(sql: "SELECT DISTINCT owner FROM registration ORDER BY owner").map { row in
            guard let owner = UserName(canonical: try row.required("owner", as: String.self)) else {
                throw LedgerUnavailable("the ledger contains an invalid user name")
            }
            return owner
        }
    }
}

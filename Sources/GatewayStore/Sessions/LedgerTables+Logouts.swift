internal import GatewayCore
internal import GatewaySupport

/// Statements on logouts at identity providers.
extension LedgerTables {
    /// Stores a logout. Keeps the later of two logouts with the same target.
    func store(_ logout: ProviderLogout) throws {
        for target in logout.targets {
            let (kind, value, change): (String, String, SessionChange.Kind) =
                switch target {
                case .session(let session): ("session", session, .providerSession)
                case .subject(let subject): ("subject", subject, .providerSubject)
                case .subjectWithoutSession(let subject):
                    ("subject-without-session", subject, .providerSubjectWithoutSession)
                }
            try announce(change, subject: value, issuer: logout.issuer, time: max(logout.issued, WallTime(seconds: 0)))
            try execute(
                sql: """
                    INSERT INTO provider_logout (issuer, kind, value, at) VALUES (?, ?, ?, ?)
                    ON CONFLICT (issuer, kind, value) DO UPDATE SET at = CASE
                        WHEN provider_logout.at < excluded.at THEN excluded.at ELSE provider_logout.at END
                    """,
                arguments: [logout.issuer, kind, value, max(0, logout.issued.microseconds)])
        }
    }

    /// Returns the logouts, the oldest first, so that a full table forgets these.
    func providerLogouts() throws -> [ProviderLogout] {
        var logouts: [ProviderLogout] = []
        try forEachRow(sql: "SELECT * FROM provider_logout ORDER BY at") { row in
            let value = try row.required("value", as: String.self)
            let target: ProviderLogout.Target =
                switch try row.required("kind", as: String.self) {
                case "session": .session(value)
                case "subject": .subject(value)
                default: .subjectWithoutSession(value)
                }
            logouts.append(
                ProviderLogout(
                    issuer: try row.required("issuer", as: String.self), targets: [target],
                    issued: try row.time("at")))
        }
        return logouts
    }
}

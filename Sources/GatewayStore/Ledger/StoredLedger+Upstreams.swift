public import GatewayCore

extension StoredLedger {
    /// Stores the upstream of each registration that has none yet: one of an import, or of an earlier version. Called
    /// with the upstreams that serve the push services, before others do.
    public func assignUpstreams(_ upstreams: [PushService: UpstreamName]) async throws(LedgerUnavailable) {
        for (service, upstream) in upstreams {
            // In steps, because a database may limit the time of a statement.
            while try await assign(upstream, to: service) == Self.assignedAtOnce {}
        }
    }

    /// The number of registrations that one transaction changes.
    private static let assignedAtOnce = 5000

    /// Stores the upstream of some registrations that have none. Returns their number.
    private func assign(_ upstream: UpstreamName, to service: PushService) async throws(LedgerUnavailable) -> Int {
        try await write { tables in
            try tables.execute(
                sql: """
                    UPDATE registration SET upstream = ? WHERE id IN (
                        SELECT id FROM registration WHERE upstream IS NULL AND service = ? LIMIT ?)
                    """,
                arguments: [upstream.text, service.rawValue, Self.assignedAtOnce])
        }.get()
    }
}

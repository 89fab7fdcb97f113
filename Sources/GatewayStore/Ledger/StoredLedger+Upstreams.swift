public import GatewayCore

extension StoredLedger {
    /// Stores the upstream of each registration that has none yet: one of an import, or of an earlier version. Called
    /// with the upstreams that serve the push services, before others do.
    public func assignUpstreams(_ upstreams: [PushService: UpstreamName]) async throws(LedgerUnavailable) {
        try await write { tables in
            for (service, upstream) in upstreams {
                try tables.execute(
                    sql: "UPDATE registration SET upstream = ? WHERE upstream IS NULL AND service = ?",
                    arguments: [upstream.text, service.rawValue])
            }
        }.get()
    }
}

internal import GatewayCore
internal import GatewayStore

/// What the ledger holds. A scrape reads numbers that are there already.
enum LedgerMetrics {
    static func families(_ ledger: LedgerMonitor, sessions: SessionRegister) -> [MetricFamily] {
        [
            MetricFamily(
                "notify_gateway_ledger_up", .gauge, "1 while registrations can be changed, else 0.",
                ledger.isUp ? 1 : 0),
            MetricFamily(
                "notify_gateway_registrations", .gauge,
                "Registrations by state: reserved, live, unconfirmed, deleting. Counted every 30 seconds.",
                ledger.registrations.map { ([.init("state", $0.state)], .number(Double($0.count))) }),
            MetricFamily(
                "notify_gateway_sessions", .gauge,
                "Sessions; one that has ended by itself counts for up to ten minutes more.",
                Double(sessions.count)),
        ]
    }
}

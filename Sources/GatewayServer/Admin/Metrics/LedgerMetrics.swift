internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// The metrics of the ledger. A scrape reads values that are already counted.
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
                "Sessions; an expired one counts for up to ten more minutes.",
                Double(sessions.count)),
        ]
    }
}

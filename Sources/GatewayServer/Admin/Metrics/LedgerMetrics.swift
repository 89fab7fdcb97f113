internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// The metrics of the ledger and of the texts beside it. A scrape reads values that are already counted.
enum LedgerMetrics {
    static func families(
        _ ledger: LedgerMonitor, sessions: SessionRegister, texts: StoredSecureTexts?
    ) -> [MetricFamily] {
        let stored: (texts: Int, bytes: Int) = texts?.amount ?? (0, 0)
        return [
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
            MetricFamily(
                "notify_gateway_secure_texts", .gauge, "Stored texts of secure sends.", Double(stored.texts)),
            MetricFamily(
                "notify_gateway_secure_texts_bytes", .gauge, "Sealed bytes of the stored texts of secure sends.",
                Double(stored.bytes)),
        ]
    }
}

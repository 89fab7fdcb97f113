internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `users show`: shows what the gateway knows of one user: devices, sessions, received notifications, limits and bans.
struct ShowUserOperation: ControlOperation {
    static let name = "users show"
    static let arguments: Set<String> = ["user"]

    let ledger: StoredLedger
    let sessions: SessionRegister
    let history: any NotificationHistory
    let throttle: LoginThrottle
    /// Returns the limiter of the current configuration.
    let limiter: @Sendable () -> Limiter
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let user = try arguments.user("user", by: names) else { throw .malformed("user is missing.") }
        let registrations = try await withLedger { () async throws(LedgerUnavailable) in
            try await ledger.registrations(of: user)
        }
        let received: [ReceivedNotification]
        do throws(HistoryUnavailable) {
            received = try await history.received(
                by: user, since: nil, limit: OperatorLists.receivedNotifications)
        } catch {
            throw .unavailable("The journal cannot be read: \(error.detail)")
        }
        var selector = LimitSelector()
        selector.user = user
        let lists: [(String, [JSONValue])] = [
            ("registrations", registrations.map(ledger.item)),
            ("sessions", sessions.allSessions.filter { $0.user == user }.map(\.item)),
            ("received", received.map(\.item)),
            ("limits", limiter().statuses(of: selector).map(\.item)),
            ("bans", throttle.currentBans().filter { $0.user == user }.map(\.item)),
        ]
        try await context.send(
            .object([.init("user", .string(user.text))] + lists.map { .init($0.0, .array($0.1)) }))
    }
}

extension ReceivedNotification {
    fileprivate var item: JSONValue {
        .object([
            .init("from", .string(sender.text)), .init("at", .string(time.description)),
            .init("platform", .string(service.rawValue)),
        ])
    }
}

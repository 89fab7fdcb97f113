internal import GatewayCore
internal import GatewaySupport

/// The rules of secure sends, and access to their texts.
struct SecureTextAccess: Sendable {
    let rules: SecureSendRules
    /// The stored texts; nil in a dry run.
    let store: (any SecureTextStore)?
    /// The limiter of look-ups that found nothing.
    let missLimiter: Limiter
}

extension Limit {
    /// The limit of a user's look-ups of secure notifications that the user does not have. Guessing never succeeds, and
    /// this bounds its cost.
    static let notificationMisses = Limit(
        name: "notification-misses", per: [.user], count: 30, period: .seconds(60))
}

extension Authorization {
    /// Decides whether a send is secure: the configuration requires it for the sender, or the sender asks for it.
    func isSecure(
        requested: Bool, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> Bool {
        guard let rules = secure?.rules, requested || rules.covers(caller) else { return false }
        if let time = facts.scheduled, time >= clocks.wall().adding(rules.microseconds) {
            throw Rejection(
                .malformedRequest, "the text would expire before its delivery",
                hint: "at is beyond the time for which the text of a secure notification is kept.")
        }
        facts.isSecure = true
        return true
    }

    /// Looks up the text of a secure notification of the caller. Every id that the caller has no notification with gets
    /// the same rejection: unknown, expired, malformed, and that of another user.
    func fetch(
        _ id: SecureID?, _ caller: Identity, at peer: Peer
    ) async throws(Rejection) -> PermittedLocalCall {
        guard let secure, let store = secure.store else { throw .unknownNotification }
        // A look-up is charged only if it finds nothing, but none is made while the limit is exhausted.
        try secure.missLimiter.admit(caller, at: peer, sending: nil, .dryRun)
        let text: SecureText?
        do throws(SecureTextsUnavailable) {
            text = try await store.text(id, of: caller.user, now: clocks.wall())
        } catch {
            throw .unavailable(error)
        }
        if let text { return .fetchNotification(text) }
        try secure.missLimiter.admit(caller, at: peer, sending: nil)
        throw .unknownNotification
    }

    /// Lists the caller's secure notifications that were not fetched yet.
    func listUnfetched(_ caller: Identity, since: WallTime?, limit: Int) async throws(Rejection) -> PermittedLocalCall {
        guard let store = secure?.store else { return .listNotifications([]) }
        do throws(SecureTextsUnavailable) {
            return .listNotifications(
                try await store.unfetched(by: caller.user, since: since, limit: limit, now: clocks.wall()))
        } catch {
            throw .unavailable(error)
        }
    }
}

extension Rejection {
    /// The rejection of an id that the caller has no notification with.
    fileprivate static var unknownNotification: Rejection {
        Rejection(.unknownNotification, "the caller has no secure notification with the id")
    }

    fileprivate static func unavailable(_ error: SecureTextsUnavailable) -> Rejection {
        Rejection(.textsUnavailable, "secure notifications: \(error.detail)", extra: .retryAfter(seconds: 5))
    }
}

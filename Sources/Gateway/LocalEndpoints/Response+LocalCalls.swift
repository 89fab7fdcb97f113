internal import GatewayCore
internal import GatewaySupport

extension Response {
    /// Returns the response with a new token (RFC 6749, section 5.1) and its session.
    ///
    /// - Parameter replaced: The sessions that ended for it; left out if there are none.
    static func token(
        _ issued: IssuedToken, of session: SessionID, replacing replaced: [Session] = [], now: WallTime
    ) -> Response {
        let token = issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        var members: [JSONValue.Member] = [
            .init("access_token", .string(token)),
            .init("token_type", .string("Bearer")),
            .init("expires_in", .number(String(max(0, issued.expires.seconds - now.seconds)))),
            .init("session", .string(session.text)),
        ]
        if !replaced.isEmpty {
            members.append(.init("ended_sessions", .array(replaced.map { .object(description(of: $0)) })))
        }
        return .json(members)
    }

    private static func description(of session: Session) -> [JSONValue.Member] {
        [
            .init("id", .string(session.id.text)),
            .init("device", session.device.map { .string($0.text) } ?? .null),
            .init("began", .string(session.began.description)),
            .init("renewed", .string(session.renewed.description)),
            .init("ends", .string(session.ends.description)),
        ]
    }

    /// Returns the response with the caller's sessions, the most recently renewed first.
    static func sessions(_ sessions: [Session], current: SessionID?) -> Response {
        .json([
            .init(
                "sessions",
                .array(
                    sessions.map { .object(description(of: $0) + [.init("current", .bool($0.id == current))]) }))
        ])
    }

    /// Returns the response with the caller's live registrations, the most recently seen first. Registrations that are
    /// being deleted are omitted.
    static func registrations(_ registrations: [OwnedRegistration]) -> Response {
        .json([
            .init(
                "registrations",
                .array(
                    registrations.filter { $0.state == .live }.map { registration in
                        .object([
                            .init("id", .string(registration.id.text)),
                            .init("platform", registration.service.map { .string($0.rawValue) } ?? .null),
                            .init("created", .string(registration.created.description)),
                            .init("last_seen", .string(registration.lastSeen.description)),
                            .init("hand_overs", .number(String(registration.ownershipTransfers))),
                        ])
                    }))
        ])
    }

    /// Returns the response with the notifications to the caller, newest first.
    static func received(_ notifications: [ReceivedNotification]) -> Response {
        .json([
            .init(
                "notifications",
                .array(
                    notifications.map { notification in
                        .object([
                            .init("from", .string(notification.sender.text)),
                            .init("at", .string(notification.time.description)),
                            .init("platform", .string(notification.service.rawValue)),
                        ])
                    }))
        ])
    }

    /// Returns the response with the text of a secure notification, with the members that clients of the tutorial read.
    static func secureText(_ text: SecureText) -> Response {
        .json([
            .init("Id", .number(text.id.text)), .init("Payload", .string(text.text)),
            .init("Read", .bool(text.wasFetched)),
        ])
    }

    /// Returns the response with the secure notifications that the caller has not fetched, newest first.
    static func unfetched(_ notifications: [UnfetchedText]) -> Response {
        .json([
            .init(
                "notifications",
                .array(
                    notifications.map { notification in
                        .object([
                            .init("id", .number(notification.id.text)),
                            .init("at", .string(notification.delivery.description)),
                        ])
                    }))
        ])
    }

    /// Returns the response with the caller's identity, and the tag that addresses its devices.
    static func whoami(_ caller: Identity) -> Response {
        .json([
            .init("user", .string(caller.user.text)),
            .init("groups", .array(caller.groups.map(\.text).sorted().map(JSONValue.string))),
            .init("tag", .string(Tag(of: caller.user).text)),
            .init("authenticator", .string(caller.authenticator.text)),
        ])
    }

    private static func json(_ members: [JSONValue.Member]) -> Response {
        Response(
            status: 200, contentType: "application/json", fields: [.noStore],
            body: JSONWriter.bytes(of: .object(members)))
    }
}

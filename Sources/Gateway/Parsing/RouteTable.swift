internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The operation that a request line selects.
enum Route: Sendable, Hashable {
    case create
    case update
    case delete
    /// `DELETE /auth/registrations/{id}`, which only the gateway offers: a deletion with the id in the path, whatever
    /// the profile says.
    case deleteByPath
    case send
    /// A call that the gateway serves without the backend.
    case local(LocalRoute)

    var action: Action {
        switch self {
        case .create: .registerCreate
        case .update: .registerUpdate
        case .delete, .deleteByPath: .registerDelete
        case .send: .send
        case .local(.whoami): .whoami
        case .local(.issueToken): .tokenIssue
        case .local(.deleteToken), .local(.deleteSession): .sessionEnd
        case .local(.listSessions): .sessionList
        case .local(.listRegistrations): .registrationList
        case .local(.listReceived): .receivedList
        case .local(.cancelSend): .sendCancel
        case .local(.fetchNotification): .notificationFetch
        case .local(.listNotifications): .notificationList
        case .local(.providerLogout): .providerLogout
        }
    }
}

/// An endpoint that the gateway serves without the backend.
enum LocalRoute: Sendable, Hashable {
    case whoami
    case issueToken
    /// Revokes the presented token and closes its session.
    case deleteToken
    case listSessions
    /// Closes the session that the path names.
    case deleteSession
    case listRegistrations
    /// Lists the notifications that the caller received.
    case listReceived
    /// Ends sessions on behalf of an identity provider.
    case providerLogout
    /// Cancels the scheduled send that the path names.
    case cancelSend
    /// Reads the text of the secure notification that the path names.
    case fetchNotification
    /// Lists the caller's secure notifications that were not fetched yet.
    case listNotifications
}

/// The table of all paths, built once from the profile. Paths and prefixes are compared byte for byte, without
/// percent-decoding or case folding.
struct RouteTable: Sendable {
    private typealias Routes = [(method: HTTPMethod, route: Route)]

    private let paths: [(path: [UInt8], routes: Routes)]
    /// The paths that end with one variable segment, by the prefix before it.
    private let prefixRoutes: [(prefix: [UInt8], routes: Routes)]

    /// - Parameters:
    ///   - issuesTokens: Whether some authenticator issues tokens. Without one there are no sessions and no endpoints
    ///     for them.
    ///   - schedulesSends: Whether the backend schedules sends, which may then be cancelled.
    ///   - offersSecureSends: Whether there are secure notifications, whose texts the gateway serves.
    ///   - receivesLogouts: Whether some identity provider may announce logouts.
    init(
        _ client: BackendProfile.ClientSide, issuesTokens: Bool, schedulesSends: Bool = false,
        offersSecureSends: Bool = false, receivesLogouts: Bool = false
    ) {
        var register: [(method: HTTPMethod, route: Route)] = [(.post, .create)]
        if client.idLocations.contains(.query) { register += [(.put, .update), (.delete, .delete)] }
        var paths: [(path: [UInt8], routes: Routes)] = [
            (
                Array(client.notificationsPath.utf8),
                [(.post, .send)] + (offersSecureSends ? [(.get, .local(.listNotifications))] : [])
            ),
            (Array(client.registerPath.utf8), register),
            (Array("/auth/whoami".utf8), [(.get, .local(.whoami))]),
            (Array("/auth/registrations".utf8), [(.get, .local(.listRegistrations))]),
            (Array("/auth/notifications-received".utf8), [(.get, .local(.listReceived))]),
        ]
        var prefixRoutes: [(prefix: [UInt8], routes: Routes)] = [
            (Array("\(client.registerPath)/".utf8), [(.put, .update), (.delete, .delete)]),
            (Array("/auth/registrations/".utf8), [(.delete, .deleteByPath)]),
        ]
        if issuesTokens {
            paths.append((Array("/auth/token".utf8), [(.post, .local(.issueToken)), (.delete, .local(.deleteToken))]))
            paths.append((Array("/auth/sessions".utf8), [(.get, .local(.listSessions))]))
            prefixRoutes.append((Array("/auth/sessions/".utf8), [(.delete, .local(.deleteSession))]))
        }
        if receivesLogouts {
            paths.append((Array("/auth/backchannel-logout".utf8), [(.post, .local(.providerLogout))]))
        }
        if schedulesSends {
            prefixRoutes.append((Array(ScheduledSendReference.path.utf8), [(.delete, .local(.cancelSend))]))
        }
        if offersSecureSends {
            prefixRoutes.append(
                (Array("\(client.notificationsPath)/".utf8), [(.get, .local(.fetchNotification))]))
        }
        self.paths = paths
        self.prefixRoutes = prefixRoutes
    }

    /// Returns the route, and the variable last segment of the path if the route has one.
    func route(_ request: ReceivedRequest) throws(Rejection) -> (Route, String?) {
        let path = request.path.readableBytesView
        if let known = index(ofPath: request.path) {
            return (try route(request.method, among: paths[known].routes, query: request.query), nil)
        }
        // A path that matched exactly needs no check, because the table contains no ambiguous path.
        try Self.requireUnambiguous(path)
        guard let match = prefixRoutes.first(where: { path.starts(with: $0.prefix) }) else {
            throw Rejection(.noRoute, "no such path")
        }
        let segment = path.dropFirst(match.prefix.count)
        guard !segment.isEmpty, !segment.contains(UInt8(ascii: "/")) else { throw Rejection(.noRoute, "no such path") }
        return (try route(request.method, among: match.routes, query: nil), String(decoding: segment, as: UTF8.self))
    }

    /// Returns the path of the route that the request selects, with `{id}` for a variable segment; nil if no path
    /// matches. Contains nothing that the client chose.
    func template(of request: ReceivedRequest) -> String? {
        if let known = index(ofPath: request.path) { return String(decoding: paths[known].path, as: UTF8.self) }
        let path = request.path.readableBytesView
        return prefixRoutes.first { path.starts(with: $0.prefix) }
            .map { String(decoding: $0.prefix, as: UTF8.self) + "{id}" }
    }

    /// Returns whether a call to the path, with any method, may need the backend.
    func needsBackend(_ path: ByteBuffer) -> Bool {
        let view = path.readableBytesView
        let routes =
            index(ofPath: path).map { paths[$0].routes }
            ?? prefixRoutes.first { view.starts(with: $0.prefix) }?.routes ?? []
        return routes.contains { _, route in
            switch route {
            case .create, .update, .delete, .deleteByPath, .send: true
            case .local: false
            }
        }
    }

    /// Returns the index in `paths` of the exactly matching path.
    private func index(ofPath path: ByteBuffer) -> Int? {
        path.withUnsafeReadableBytes { path in
            paths.firstIndex { known in
                known.path.count == path.count
                    && known.path.withUnsafeBytes { $0.elementsEqual(path) }
            }
        }
    }

    private func route(
        _ method: HTTPMethod?, among routes: Routes, query: ByteBuffer?
    ) throws(Rejection) -> Route {
        if let found = routes.first(where: { $0.method == method }) { return found.route }
        // An id in the query although the profile expects it in the path is a malformed request, not a wrong method.
        if query != nil, routes.contains(where: { $0.route == .create }), method == .put || method == .delete {
            throw Rejection(.malformedRequest, "the registration id must be in the path")
        }
        throw Rejection(.methodNotAllowed, "the path does not support the method", extra: .allow(routes.map(\.method)))
    }

    /// Rejects a path that another server might interpret differently.
    private static func requireUnambiguous(_ path: ByteBufferView) throws(Rejection) {
        func reject() -> Rejection { Rejection(.malformedRequest, "the path is ambiguous") }
        var previous: UInt8 = 0
        for (offset, byte) in path.enumerated() {
            switch byte {
            case UInt8(ascii: ";"), UInt8(ascii: "\\"), 0...0x20, 0x7F...: throw reject()
            case UInt8(ascii: "/") where previous == UInt8(ascii: "/"): throw reject()
            case UInt8(ascii: "%"):
                let digits = path.dropFirst(offset + 1).prefix(2)
                guard let high = digits.first?.hexDigitValue, digits.count == 2, let low = digits.last?.hexDigitValue,
                    // An encoded "/", "\", NUL, "%", "#", ";" or ".".
                    ![0x2F, 0x5C, 0x00, 0x25, 0x23, 0x3B, 0x2E].contains(high << 4 | low)
                else { throw reject() }
            default: break
            }
            previous = byte
        }
        for segment in path.split(separator: UInt8(ascii: "/")) where segment.allSatisfy({ $0 == UInt8(ascii: ".") }) {
            if segment.count <= 2 { throw reject() }
        }
    }
}

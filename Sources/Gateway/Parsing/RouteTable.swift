internal import GatewayCore
internal import NIOCore

/// What a request line asks for.
enum Route: Sendable, Hashable {
    case create
    case update
    case delete
    /// `DELETE /auth/registrations/{id}`: the gateway's own path, whose id is in the path whatever the profile says.
    case deleteByPath
    case send
    case own(OwnRoute)

    var action: Action {
        switch self {
        case .create: .registerCreate
        case .update: .registerUpdate
        case .delete, .deleteByPath: .registerDelete
        case .send: .send
        case .own(.whoami): .whoami
        case .own(.issueToken): .tokenIssue
        case .own(.endToken), .own(.endSession): .sessionEnd
        case .own(.listSessions): .sessionList
        case .own(.listRegistrations): .registrationList
        case .own(.listReceived): .receivedList
        }
    }
}

/// What a request line asks of the gateway itself.
enum OwnRoute: Sendable, Hashable {
    case whoami
    case issueToken
    case endToken
    case listSessions
    case endSession
    case listRegistrations
    case listReceived
}

/// All paths that there are, built once from the profile and matched byte for byte: no prefixes, no patterns, no folding.
struct RouteTable: Sendable {
    private typealias Routes = [(method: HTTPMethod, route: Route)]

    private let paths: [(path: [UInt8], routes: Routes)]
    /// Paths that end with one segment of the caller's, by what stands before it.
    private let families: [(prefix: [UInt8], routes: Routes)]

    /// - Parameter issuesTokens: whether there is anybody who issues tokens; where there is nobody, there are no sessions.
    init(_ client: BackendProfile.ClientSide, issuesTokens: Bool) {
        var register: [(method: HTTPMethod, route: Route)] = [(.post, .create)]
        if client.idPlaces.contains(.query) { register += [(.put, .update), (.delete, .delete)] }
        var paths: [(path: [UInt8], routes: Routes)] = [
            (Array(client.notificationsPath.utf8), [(.post, .send)]),
            (Array(client.registerPath.utf8), register),
            (Array("/auth/whoami".utf8), [(.get, .own(.whoami))]),
            (Array("/auth/registrations".utf8), [(.get, .own(.listRegistrations))]),
            (Array("/auth/notifications-received".utf8), [(.get, .own(.listReceived))]),
        ]
        var families: [(prefix: [UInt8], routes: Routes)] = [
            (Array("\(client.registerPath)/".utf8), [(.put, .update), (.delete, .delete)]),
            (Array("/auth/registrations/".utf8), [(.delete, .deleteByPath)]),
        ]
        if issuesTokens {
            paths.append((Array("/auth/token".utf8), [(.post, .own(.issueToken)), (.delete, .own(.endToken))]))
            paths.append((Array("/auth/sessions".utf8), [(.get, .own(.listSessions))]))
            families.append((Array("/auth/sessions/".utf8), [(.delete, .own(.endSession))]))
        }
        self.paths = paths
        self.families = families
    }

    /// The route, and the last segment of the path where it is the caller's.
    func route(_ request: ReceivedRequest) throws(Refusal) -> (Route, String?) {
        let path = request.path.readableBytesView
        if let known = place(ofPath: request.path) {
            return (try route(request.method, among: paths[known].routes, query: request.query), nil)
        }
        // Only a path that matched as it stands is spared this: it cannot hold any of what is refused here.
        try Self.requireSound(path)
        guard let family = families.first(where: { path.starts(with: $0.prefix) }) else {
            throw Refusal(.noRoute, "no such path")
        }
        let segment = path.dropFirst(family.prefix.count)
        guard !segment.isEmpty, !segment.contains(UInt8(ascii: "/")) else { throw Refusal(.noRoute, "no such path") }
        return (try route(request.method, among: family.routes, query: nil), String(decoding: segment, as: UTF8.self))
    }

    /// Whether a call of this path is for the backend.
    func needsBackend(_ path: ByteBuffer) -> Bool {
        let view = path.readableBytesView
        let routes =
            place(ofPath: path).map { paths[$0].routes }
            ?? families.first { view.starts(with: $0.prefix) }?.routes ?? []
        return routes.contains { _, route in
            switch route {
            case .create, .update, .delete, .deleteByPath, .send: true
            case .own: false
            }
        }
    }

    /// Which of the paths it is, byte for byte.
    private func place(ofPath path: ByteBuffer) -> Int? {
        path.withUnsafeReadableBytes { path in
            paths.firstIndex { known in
                known.path.count == path.count
                    && known.path.withUnsafeBytes { $0.elementsEqual(path) }
            }
        }
    }

    private func route(
        _ method: HTTPMethod?, among routes: Routes, query: ByteBuffer?
    ) throws(Refusal) -> Route {
        if let found = routes.first(where: { $0.method == method }) { return found.route }
        // An id in the place that only another profile's clients use is a wrong request, not a wrong method.
        if query != nil, routes.contains(where: { $0.route == .create }), method == .put || method == .delete {
            throw Refusal(.malformedRequest, "the registration id belongs into the path")
        }
        throw Refusal(.methodNotAllowed, "no such method here", extra: .allow(routes.map(\.method)))
    }

    /// Refuses what some server on the way could read as another path than we do.
    private static func requireSound(_ path: ByteBufferView) throws(Refusal) {
        func refuse() -> Refusal { Refusal(.malformedRequest, "the path can be read in two ways") }
        var previous: UInt8 = 0
        for (offset, byte) in path.enumerated() {
            switch byte {
            case UInt8(ascii: ";"), UInt8(ascii: "\\"), 0...0x20, 0x7F...: throw refuse()
            case UInt8(ascii: "/") where previous == UInt8(ascii: "/"): throw refuse()
            case UInt8(ascii: "%"):
                let digits = path.dropFirst(offset + 1).prefix(2)
                guard let high = digits.first?.hexDigitValue, digits.count == 2, let low = digits.last?.hexDigitValue,
                    // "/", "\", NUL, "%", "#", ";" and "." in disguise.
                    ![0x2F, 0x5C, 0x00, 0x25, 0x23, 0x3B, 0x2E].contains(high << 4 | low)
                else { throw refuse() }
            default: break
            }
            previous = byte
        }
        for segment in path.split(separator: UInt8(ascii: "/")) where segment.allSatisfy({ $0 == UInt8(ascii: ".") }) {
            if segment.count <= 2 { throw refuse() }
        }
    }
}

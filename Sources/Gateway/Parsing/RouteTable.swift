internal import GatewayCore
internal import NIOCore

/// What a request line asks for.
enum Route: Sendable, Hashable {
    case create
    case update
    case delete
    case send
    case whoami

    var action: Action {
        switch self {
        case .create: .registerCreate
        case .update: .registerUpdate
        case .delete: .registerDelete
        case .send: .send
        case .whoami: .whoami
        }
    }
}

/// All paths that there are, built once from the profile and matched byte for byte: no prefixes, no patterns, no folding.
struct RouteTable: Sendable {
    private let paths: [(path: [UInt8], routes: [(method: HTTPMethod, route: Route)])]
    private let registrationPrefix: [UInt8]
    private let registrationRoutes: [(method: HTTPMethod, route: Route)] = [(.put, .update), (.delete, .delete)]

    init(_ client: BackendProfile.ClientSide) {
        var register: [(method: HTTPMethod, route: Route)] = [(.post, .create)]
        if client.idPlaces.contains(.query) { register += [(.put, .update), (.delete, .delete)] }
        paths = [
            (Array(client.notificationsPath.utf8), [(.post, .send)]),
            (Array(client.registerPath.utf8), register),
            (Array("/auth/whoami".utf8), [(.get, .whoami)]),
        ]
        registrationPrefix = Array("\(client.registerPath)/".utf8)
    }

    /// The route, and the registration id where it stands in the path.
    func route(_ request: ReceivedRequest) throws(Refusal) -> (Route, RegistrationID?) {
        let path = request.path.readableBytesView
        if let known = paths.first(where: { path.elementsEqual($0.path) }) {
            return (try route(request.method, among: known.routes, query: request.query), nil)
        }
        // Only a path that matched as it stands is spared this: it cannot hold any of what is refused here.
        try Self.requireSound(path)
        guard path.starts(with: registrationPrefix) else { throw Refusal(.noRoute, "no such path") }
        let segment = path.dropFirst(registrationPrefix.count)
        guard !segment.isEmpty, !segment.contains(UInt8(ascii: "/")) else { throw Refusal(.noRoute, "no such path") }
        let route = try route(request.method, among: registrationRoutes, query: nil)
        guard let id = RegistrationID(String(decoding: segment, as: UTF8.self)) else {
            throw Refusal(.malformedRequest, "the id in the path is not one")
        }
        return (route, id)
    }

    private func route(
        _ method: HTTPMethod?, among routes: [(method: HTTPMethod, route: Route)], query: ByteBuffer?
    ) throws(Refusal) -> Route {
        if let found = routes.first(where: { $0.method == method }) { return found.route }
        // An id in the place that only another profile's clients use is a wrong request, not a wrong method.
        if query != nil, method == .put || method == .delete {
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

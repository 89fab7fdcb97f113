internal import GatewayCore
internal import NIOCore

/// A well-formed call whose caller is not authenticated yet. Only the parse phase creates one.
struct ParsedCall: ~Copyable {
    var facts: CallFacts
    let call: Call
    let authorization: ReceivedRequest.FieldValue
    let certificate: ClientCertificateResult?
    let allowsCredentials: Bool
    let clientDisconnect: ClientDisconnect?

    fileprivate init(
        facts: CallFacts, call: Call, authorization: ReceivedRequest.FieldValue,
        certificate: ClientCertificateResult?, allowsCredentials: Bool, clientDisconnect: ClientDisconnect?
    ) {
        self.facts = facts
        self.call = call
        self.authorization = authorization
        self.certificate = certificate
        self.allowsCredentials = allowsCredentials
        self.clientDisconnect = clientDisconnect
    }
}

/// The parse phase: parses a request into a call. Pure and synchronous.
struct Parsing: Sendable {
    let routes: RouteTable
    let names: NameRules
    let handles: HandleRules
    let client: BackendProfile.ClientSide
    let platforms: ServedPlatforms
    let messages: MessageExtraction
    /// The parameters of a send.
    var sendParameters = Parsing.sendParameters(schedulesSends: false, offersSecureSends: false)

    @inline(never)
    /// Parses the request. Throws if the path, a parameter or the body is invalid.
    func parse(_ request: ReceivedRequest) throws(Rejection) -> ParsedCall {
        var facts = CallFacts(call: request.id, peer: request.peer)
        // An invalid trace context is ignored (W3C Trace Context, section 4.3); the call is not rejected for it.
        if case .single(let bytes) = request.traceparent {
            facts.trace = TraceContext(
                traceparent: bytes.readableBytesView,
                state: request.tracestate.flatMap { TraceState($0.readableBytesView) })
        }
        do throws(Rejection) {
            let (route, segment) = try routes.route(request)
            facts.action = route.action
            guard request.authorization != .repeated else {
                throw Rejection(.malformedRequest, "Authorization is repeated")
            }
            let call = try call(route, segment, request, &facts)
            facts.establish { facts in
                switch call {
                case .send(let send, _):
                    facts.recipient = send.recipient
                    facts.pns = send.service
                    facts.bytes = send.text.utf8.count
                case .sendToAudience(let send, _):
                    facts.audience = send.audience.text
                    facts.pns = send.service
                    facts.bytes = send.text.utf8.count
                case .registration(.update(_, let registration)):
                    // The label that the client presents may belong to another user. It is recorded only after the
                    // ledger has resolved it to a registration.
                    facts.platform = registration.handle.service
                case .registration(.create), .registration(.delete), .local:
                    break
                }
            }
            return ParsedCall(
                facts: facts, call: call, authorization: request.authorization, certificate: request.certificate,
                allowsCredentials: request.allowsCredentials, clientDisconnect: request.clientDisconnect)
        } catch {
            throw error.with(facts)
        }
    }

    private func call(
        _ route: Route, _ segment: String?, _ request: ReceivedRequest, _ facts: inout CallFacts
    ) throws(Rejection) -> Call {
        try MediaType.requireIdentityCoding(request.contentEncoding)
        switch route {
        case .create:
            try requireNoBody(request)
            let query = try QueryParameters(request.query, allowed: ["handle"])
            return .registration(
                .create(handle: try query.value("handle").flatMap { text throws(Rejection) in try handle(text) }))
        case .update:
            let label = try label(segment, request)
            try MediaType.requireJSON(request.contentType)
            return .registration(.update(label: label, try registration(request.body)))
        case .delete:
            try requireNoBody(request)
            return .registration(.delete(label: try label(segment, request)))
        case .deleteByPath:
            try requireNoBody(request)
            _ = try QueryParameters(request.query, allowed: [])
            guard let id = segment.flatMap(RegistrationID.init) else {
                throw Rejection(.malformedRequest, "the registration id in the path is malformed")
            }
            return .registration(.delete(label: id))
        case .send:
            let query = try QueryParameters(request.query, allowed: sendParameters)
            try MediaType.requireJSON(request.contentType)
            let service = try pushService(try query.require("pns"))
            let target = try query.require("to_tag")
            let position = query.count > 2 ? try PositionParameters.read(query) : nil
            if query.count > 2, let time = try DeliveryTime.read(query, of: service, platforms) {
                facts.scheduled = time
            }
            let isSecure = query.count > 2 ? try SecureParameter.read(query) : false
            let key = try IdempotencyKey.read(request.idempotencyKey)
            if let name = AudienceName.named(in: target) {
                let audience = try audience(name)
                return .sendToAudience(
                    RequestedAudienceSend(
                        service: service, audience: audience, text: try messages.text(of: request.body), key: key,
                        isSecure: isSecure),
                    at: position)
            }
            let recipient = try recipient(target)
            return .send(
                RequestedSend(
                    service: service, recipient: recipient, text: try messages.text(of: request.body), key: key,
                    isSecure: isSecure),
                at: position)
        case .local(let route):
            if route != .listReceived, route != .listNotifications {
                _ = try QueryParameters(request.query, allowed: [])
            }
            if route != .issueToken, route != .providerLogout { try requireNoBody(request) }
            return .local(try localCall(route, segment, request))
        }
    }

    /// Returns the parameters that a send may have.
    static func sendParameters(schedulesSends: Bool, offersSecureSends: Bool) -> [String] {
        ["pns", "to_tag", "latitude", "longitude"] + (schedulesSends ? ["at"] : [])
            + (offersSecureSends ? ["secure"] : [])
    }

    private func localCall(
        _ route: LocalRoute, _ segment: String?, _ request: ReceivedRequest
    ) throws(Rejection) -> LocalCall {
        switch route {
        case .whoami: return .whoami
        case .listRegistrations: return .listRegistrations
        case .listReceived:
            let query = try ReceivedQuery(request.query)
            return .listReceived(since: query.since, limit: query.limit)
        case .listNotifications:
            let query = try ReceivedQuery(request.query)
            return .listNotifications(since: query.since, limit: query.limit)
        case .fetchNotification: return .fetchNotification(segment.flatMap { SecureID($0) })
        case .issueToken:
            if request.body.readableBytes == 0 { return .issueToken(device: nil) }
            try MediaType.requireJSON(request.contentType)
            return .issueToken(device: try TokenRequestBody.device(in: request.body))
        case .deleteToken: return .deleteToken
        case .providerLogout:
            try MediaType.requireForm(request.contentType)
            return .providerLogout(token: try LogoutForm.token(in: request.body))
        case .cancelSend: return .cancelSend(reference: segment ?? "")
        case .listSessions: return .listSessions
        case .deleteSession:
            guard let id = segment.flatMap(SessionID.init) else {
                throw Rejection(.malformedRequest, "the session id in the path is malformed")
            }
            return .deleteSession(id)
        }
    }

    private func requireNoBody(_ request: ReceivedRequest) throws(Rejection) {
        guard request.body.readableBytes == 0 else { throw Rejection(.malformedRequest, "the call must have no body") }
    }

    private func label(_ segment: String?, _ request: ReceivedRequest) throws(Rejection) -> RegistrationID {
        let pathID = try segment.map { text throws(Rejection) in
            guard let id = RegistrationID(text) else {
                throw Rejection(.malformedRequest, "the registration id in the path is malformed")
            }
            return id
        }
        let takesQuery = client.idLocations.contains(.query)
        let query = try QueryParameters(request.query, allowed: takesQuery ? ["id"] : [])
        let queryID = query.value("id")
        switch (pathID, queryID) {
        case (let id?, nil):
            guard client.idLocations.contains(.path) else {
                throw Rejection(.malformedRequest, "the registration id must be in the query")
            }
            return id
        case (nil, let text?):
            guard let id = RegistrationID(text) else {
                throw Rejection(.malformedRequest, "the registration id in the query is malformed")
            }
            return id
        case (nil, nil), (_?, _?):
            throw Rejection(.malformedRequest, "exactly one registration id is required")
        }
    }

    private func handle(_ text: String) throws(Rejection) -> DeviceHandle? {
        if text.isEmpty { return nil }
        do throws(DeviceHandle.Fault) {
            let handle = try handles.handleOfUnnamedService(text)
            if platforms.serves(handle.service) { return handle }
        } catch {
            throw Rejection(.handleUnusable, "handle: \(error)", hint: error.hint)
        }
        throw Rejection(.unknownPlatform, "no backend serves the push service of the handle")
    }

    private func registration(_ body: ByteBuffer) throws(Rejection) -> RequestedRegistration {
        let read = try RegistrationBody.read(body)
        guard let service = platforms.platformNames.service(for: read.platform) else {
            throw Rejection(.unknownPlatform, "the backend does not support the Platform")
        }
        do throws(DeviceHandle.Fault) {
            return RequestedRegistration(handle: try handles.handle(read.handle, of: service), tags: read.tags)
        } catch {
            throw Rejection(.handleUnusable, "Handle: \(error)", hint: error.hint)
        }
    }

    private func pushService(_ word: String) throws(Rejection) -> PushService {
        guard let service = platforms.pnsNames.service(for: word) else {
            throw Rejection(.unknownPlatform, "the backend does not support the pns")
        }
        return service
    }

    private func audience(_ name: Substring) throws(Rejection) -> AudienceName {
        guard let audience = AudienceName(name) else {
            throw Rejection(
                .malformedRequest, "to_tag is not a valid audience name", hint: "to_tag is not a valid audience name.")
        }
        return audience
    }

    private func recipient(_ text: String) throws(Rejection) -> UserName {
        guard let user = names.user(PresentedName(text)) else {
            throw Rejection(.malformedRequest, "to_tag is not a user name", hint: "to_tag must be one user's name.")
        }
        return user
    }
}

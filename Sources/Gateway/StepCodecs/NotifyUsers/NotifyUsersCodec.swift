internal import GatewayCore
public import GatewaySupport
internal import NIOCore

/// The protocol of notify-users backends (docs/contract.md), in the variant that a profile describes.
///
/// A request has an allow-list of header fields and no byte of the client's head.
final class NotifyUsersCodec: StepCodec {
    private let backend: BackendProfile.BackendSide
    private let host: String
    private let credential: UpstreamCredential
    /// The size of the backend's payload without user and message, indexed by `PushService.index`.
    private let payloadFrames: [Int]

    /// Creates a codec for one backend. `host` is the value of `Host` (RFC 9112, section 3.2).
    init(backend: BackendProfile.BackendSide, host: String, credential: UpstreamCredential) {
        self.backend = backend
        self.host = host
        self.credential = credential
        payloadFrames = backend.allPayloadFrames()
    }

    var credentialField: String {
        switch credential {
        case .mirror, .sharedPassword: "Authorization"
        case .header(_, let secretField, _): secretField
        }
    }

    var confirmsUpdates: Bool { backend.confirmsUpdates }

    var listsRegistrations: Bool { false }

    /// These backends never ask for a pause.
    func pause(of kind: UpstreamStep.Kind) -> Int? { nil }

    /// Returns the escaped text, which the backend pastes into its payload after `From `, the sender's name and `: `.
    ///
    /// The backend decodes one JSON string and pastes the result without escaping. The gateway sends
    /// `JSON(escape(text))`, so that the payload is valid and the text arrives unchanged.
    func content(
        of text: String, for service: PushService, from sender: UserName
    ) throws(Rejection) -> [UInt8] {
        let escaped = try EscapedText.bytes(of: text, for: service)
        try service.checkPayload(length: payloadFrames[service.index] + sender.text.utf8.count + escaped.count)
        return escaped
    }

    /// A notify-users backend builds the payload from the text.
    func secureContent(id: String, for service: PushService) -> [UInt8]? { nil }

    @inline(never)
    func request(for step: UpstreamStep, caller: UserName, reserved: String?, _ origin: RequestOrigin) -> ByteBuffer? {
        switch step {
        case .reserve(let handle):
            return request("POST", as: caller, body: nil, origin) { target in
                target.append(text: backend.registerPath)
                guard let handle else { return }
                target.append("?handle=")
                target.append(percentEncoding: handle.text)
            }
        case .upsert(.known(let id), let registration):
            return upsert(id.text, registration, origin)
        case .upsert(.reserved, let registration):
            return reserved.flatMap { upsert($0, registration, origin) }
        case .delete(let id, let owner):
            return request("DELETE", as: owner, body: nil, origin) { write(pathOf: id.text, to: &$0) }
        // A backend schedules nothing, so it has no notification to cancel.
        case .cancel: return nil
        case .send(let send):
            guard let word = backend.pnsNames[send.service] else { return nil }
            return Self.withJSONString(of: send.content) { body in
                request("POST", as: send.sender, body: body, origin) { target in
                    target.append(text: backend.notificationsPath)
                    target.append("?pns=")
                    target.append(text: word.text)
                    target.append("&to_tag=")
                    target.append(percentEncoding: send.recipient.text)
                }
            }
        }
    }

    /// Calls the closure with the text as a JSON string, on the stack if it is short. The buffer is valid only during
    /// the call.
    private static func withJSONString(
        of text: [UInt8], _ body: (UnsafeBufferPointer<UInt8>) -> ByteBuffer
    ) -> ByteBuffer {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count + 64) { room in
            var string = ByteWriter(room)
            JSONWriter.write(stringOfUTF8: text, to: &string)
            if string.isComplete { return body(UnsafeBufferPointer(rebasing: room[..<string.count])) }
            return [UInt8](expecting: string.count) { JSONWriter.write(stringOfUTF8: text, to: &$0) }
                .withUnsafeBufferPointer(body)
        }
    }

    func decode(_ response: BackendResponse, to step: UpstreamStep) -> DecodedResponse {
        let succeeded = backend.successStatuses.contains(response.status)
        var decoded = DecodedResponse(succeeded ? .done : .failed, "status \(response.status)")
        switch step {
        case .reserve:
            guard succeeded else { break }
            decoded.reserved = ReservedIDParser.read(response.body, as: backend.idFormat)
            if decoded.reserved == nil {
                decoded = DecodedResponse(.failed, "the backend responded with an invalid id")
            }
        case .upsert:
            if !succeeded, backend.goneStatuses.contains(response.status) { decoded.result = .gone }
        case .delete:
            // A missing registration counts as deleted. Other statuses, such as a plain 500, are ambiguous.
            if response.status == 404 || response.status == 410 {
                decoded.result = .done
            } else if !succeeded, backend.goneStatuses.contains(response.status) {
                decoded.result = .gone
            }
        case .send, .cancel: break
        }
        return decoded
    }

    private func upsert(_ id: String, _ registration: UpstreamRegistration, _ origin: RequestOrigin) -> ByteBuffer? {
        guard let word = backend.platformNames[registration.handle.service] else { return nil }
        let body = JSONWriter.bytes(
            of: .object([
                .init("Platform", .string(word.text)),
                .init("Handle", .string(registration.handle.text)),
                .init("Tags", .array(registration.tags.map { .string($0.text) })),
            ]))
        return body.withUnsafeBufferPointer { body in
            request("PUT", as: registration.owner, body: body, origin) { write(pathOf: id, to: &$0) }
        }
    }

    private func write(pathOf id: String, to target: inout ByteWriter) {
        target.append(text: backend.registerPath)
        switch backend.idLocation {
        case .path: target.append("/")
        case .query: target.append("?id=")
        }
        target.append(text: id)
    }

    private func request(
        _ method: StaticString, as user: UserName, body: UnsafeBufferPointer<UInt8>?, _ origin: RequestOrigin,
        target: (inout ByteWriter) -> Void
    ) -> ByteBuffer {
        ByteBuffer(expecting: Self.usualHeadBytes + (body?.count ?? 0)) { bytes in
            bytes.append(method)
            bytes.append(" ")
            target(&bytes)
            bytes.append(" HTTP/1.1\r\nHost: ")
            bytes.append(text: host)
            write(user, to: &bytes)
            bytes.append("\r\nAccept: application/json\r\nX-Request-Id: ")
            origin.call.write(to: &bytes)
            bytes.append("\r\ntraceparent: ")
            if let trace = origin.trace {
                trace.write(traceparentWith: origin.span, to: &bytes)
            } else {
                bytes.append("{traceparent}")
            }
            if let state = origin.trace?.state {
                bytes.append("\r\ntracestate: ")
                bytes.append(text: state.text)
            }
            if body != nil { bytes.append("\r\nContent-Type: application/json; charset=utf-8") }
            if body != nil || method.utf8Start.pointee == UInt8(ascii: "P") {
                bytes.append("\r\nContent-Length: ")
                bytes.append(decimal: body?.count ?? 0)
            }
            bytes.append("\r\n\r\n")
            if let body { bytes.append(body) }
        }
    }

    private func write(_ user: UserName, to bytes: inout ByteWriter) {
        switch credential {
        case .mirror:
            bytes.append("\r\nAuthorization: Basic ")
            let length = user.text.utf8.count
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * length + 1) { buffer in
                var pair = ByteWriter(buffer)
                pair.append(text: user.text)
                pair.append(":")
                pair.append(text: user.text)
                Base64.write(UnsafeBufferPointer(buffer), .standard, to: &bytes)
            }
        case .sharedPassword(let password):
            bytes.append("\r\nAuthorization: Basic ")
            let name = Array(user.text.utf8) + [UInt8(ascii: ":")]
            bytes.append(password.withUnsafeBytes { Base64.encode(name + Array($0), .standard) })
        case .header(let userField, let secretField, let secret):
            bytes.append("\r\n")
            bytes.append(text: userField)
            bytes.append(": ")
            bytes.append(text: user.text)
            bytes.append("\r\n")
            bytes.append(text: secretField)
            bytes.append(": ")
            secret.withUnsafeBytes { bytes.append($0.bindMemory(to: UInt8.self)) }
        }
    }

    /// The expected length of a head. A longer head is written twice (see `ByteBuffer.init(expecting:)`).
    private static let usualHeadBytes = 480
}

/// The credential that identifies the user to the backend. The gateway has authenticated the user, and the backend
/// trusts the gateway.
public enum UpstreamCredential: Sendable {
    /// Basic, with the user name also as the password, which the backends of the tutorial accept.
    case mirror
    /// Basic, with the user name and a password that gateway and backend share.
    case sharedPassword(Secret)
    /// The user name in one header field, and a secret that gateway and backend share in another.
    case header(userField: String, secretField: String, secret: Secret)
}

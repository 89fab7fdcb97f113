internal import GatewayCore
internal import NIOCore

/// Writes the gateway's own HTTP/1.1 requests from typed steps: an allow-list of header fields, no byte of the client's head.
struct UpstreamEncoder: Sendable {
    private let backend: BackendProfile.BackendSide
    private let host: String
    private let credential: UpstreamCredential

    /// An encoder for one backend. `host` is what its `Host` field gets (RFC 9112, section 3.2).
    init(backend: BackendProfile.BackendSide, host: String, credential: UpstreamCredential) {
        self.backend = backend
        self.host = host
        self.credential = credential
    }

    /// The request for a step, or nil where the backend has no word for the service: the plan is at fault then.
    @inline(never)
    func request(
        for step: UpstreamStep, caller: UserName, reserved: RegistrationID?, call: CallID, traceparent: String,
        tracestate: TraceState?
    ) -> ByteBuffer? {
        request(
            for: step, caller: caller, reservedText: reserved?.text,
            Origin(call: call, traceparent: traceparent, tracestate: tracestate))
    }

    /// By what a request is found again, in the logs of the backend and in ours.
    private struct Origin {
        let call: CallID
        let traceparent: String
        let tracestate: TraceState?
    }

    /// The same, with any text in the place of the id that is not known before the backend has given it.
    func request(
        for step: UpstreamStep, caller: UserName, reservedText: String?, call: CallID, traceparent: String
    ) -> ByteBuffer? {
        request(
            for: step, caller: caller, reservedText: reservedText,
            Origin(call: call, traceparent: traceparent, tracestate: nil))
    }

    private func request(
        for step: UpstreamStep, caller: UserName, reservedText: String?, _ origin: Origin
    ) -> ByteBuffer? {
        switch step {
        case .reserve(let handle):
            return request("POST", as: caller, body: nil, origin) { target in
                target.writeString(backend.registerPath)
                guard let handle else { return }
                target.writeStaticString("?handle=")
                Self.percentEncode(handle.text, to: &target)
            }
        case .upsert(.known(let id), let registration):
            return upsert(id.text, registration, origin)
        case .upsert(.reserved, let registration):
            return reservedText.flatMap { upsert($0, registration, origin) }
        case .delete(let id, let owner):
            return request("DELETE", as: owner, body: nil, origin) { write(pathOf: id.text, to: &$0) }
        case .send(let send):
            guard let word = backend.pnsWords[send.service] else { return nil }
            var body: [UInt8] = []
            body.reserveCapacity(send.text.count + 16)
            JSONWriter.write(stringOfUTF8: send.text.span, to: &body)
            return request("POST", as: send.sender, body: body, origin) { target in
                target.writeString(backend.notificationsPath)
                target.writeStaticString("?pns=")
                target.writeString(word.text)
                target.writeStaticString("&to_tag=")
                Self.percentEncode(send.recipient.text, to: &target)
            }
        }
    }

    private func upsert(_ id: String, _ registration: UpstreamRegistration, _ origin: Origin) -> ByteBuffer? {
        guard let word = backend.platformWords[registration.handle.service] else { return nil }
        let body = JSONWriter.bytes(
            of: .object([
                .init("Platform", .string(word.text)),
                .init("Handle", .string(registration.handle.text)),
                .init("Tags", .array(registration.tags.map { .string($0.text) })),
            ]))
        return request("PUT", as: registration.owner, body: body, origin) { write(pathOf: id, to: &$0) }
    }

    private func write(pathOf id: String, to target: inout ByteBuffer) {
        target.writeString(backend.registerPath)
        switch backend.idPlace {
        case .path: target.writeStaticString("/")
        case .query: target.writeStaticString("?id=")
        }
        target.writeString(id)
    }

    private func request(
        _ method: StaticString, as user: UserName, body: [UInt8]?, _ origin: Origin,
        target: (inout ByteBuffer) -> Void
    ) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(Self.usualHeadBytes + (body?.count ?? 0))
        bytes.writeStaticString(method)
        bytes.writeStaticString(" ")
        target(&bytes)
        bytes.writeStaticString(" HTTP/1.1\r\nHost: ")
        bytes.writeString(host)
        write(user, to: &bytes)
        bytes.writeStaticString("\r\nAccept: application/json\r\nX-Request-Id: ")
        bytes.writeString(origin.call.text)
        bytes.writeStaticString("\r\ntraceparent: ")
        bytes.writeString(origin.traceparent)
        if let state = origin.tracestate {
            bytes.writeStaticString("\r\ntracestate: ")
            bytes.writeString(state.text)
        }
        if body != nil { bytes.writeStaticString("\r\nContent-Type: application/json; charset=utf-8") }
        if body != nil || method.utf8Start.pointee == UInt8(ascii: "P") {
            bytes.writeStaticString("\r\nContent-Length: ")
            bytes.writeString(String(body?.count ?? 0))
        }
        bytes.writeStaticString("\r\n\r\n")
        if let body { bytes.writeBytes(body) }
        return bytes
    }

    private func write(_ user: UserName, to bytes: inout ByteBuffer) {
        switch credential {
        case .mirror:
            let name = user.text.utf8
            var pair: [UInt8] = []
            pair.reserveCapacity(2 * name.count + 1)
            pair += name
            pair.append(UInt8(ascii: ":"))
            pair += name
            bytes.writeStaticString("\r\nAuthorization: Basic ")
            bytes.writeBytes(Base64.encode(pair.span, .standard))
        case .sharedPassword(let password):
            bytes.writeStaticString("\r\nAuthorization: Basic ")
            let name = Array(user.text.utf8) + [UInt8(ascii: ":")]
            bytes.writeBytes(password.withUnsafeBytes { Base64.encode(name + Array($0), .standard) })
        case .header(let userField, let secretField, let secret):
            bytes.writeString("\r\n\(userField): \(user.text)\r\n\(secretField): ")
            _ = secret.withUnsafeBytes { bytes.writeBytes($0) }
        }
    }

    /// Longer ones make the buffer grow.
    private static let usualHeadBytes = 1024

    /// Everything but the unreserved characters of RFC 3986, section 2.3.
    private static func percentEncode(_ text: String, to bytes: inout ByteBuffer) {
        func isUnreserved(_ byte: UInt8) -> Bool {
            switch byte.asciiLowercased {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
            default: false
            }
        }
        // Names and handles usually need no escape.
        if text.utf8.allSatisfy(isUnreserved) {
            bytes.writeString(text)
            return
        }
        for byte in text.utf8 {
            if isUnreserved(byte) {
                bytes.writeInteger(byte)
            } else {
                let (high, low) = byte.hexDigits
                bytes.writeStaticString("%")
                bytes.writeMultipleIntegers(high, low)
            }
        }
    }
}

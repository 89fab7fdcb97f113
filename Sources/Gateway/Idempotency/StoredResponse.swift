internal import GatewayCore

// The form of responses in the shared register.

extension IdempotencyStore.Scope {
    init(_ send: KeyedSend) {
        self.init(user: send.user, target: send.target, service: send.service, key: send.key)
    }
}

extension IdempotencyStore.Lookup {
    /// Creates the result of a look-up in the shared register. A response that cannot be read counts as unknown.
    init(_ state: KeyedSendState, of send: KeyedSend, in register: any KeyedSendRegister) {
        switch state {
        case .inserted(let number): self = .new(IdempotencyClaim(send, number: number, in: register))
        case .inFlight: self = .inFlight
        case .differentMessage: self = .differentMessage
        case .unknown: self = .unknown
        case .completed(let result, let bytes):
            self = Response(storedForm: bytes).map { .completed($0, result) } ?? .unknown
        }
    }
}

extension KeyedSendResult {
    /// Creates the result to store. A response that is too long to be stored counts as unknown.
    init(_ result: IdempotentResult) {
        switch result {
        case .notSent: self = .notSent
        case .unknown: self = .unknown
        case .completed(let response, let result):
            self = response.storedForm.map { .completed(result, response: $0) } ?? .unknown
        }
    }
}

extension Response {
    /// The maximum length of a stored response in bytes. Responses to sends have a few hundred bytes.
    static let longestStoredForm = 16_384

    /// The first byte of the stored form.
    private static let storedVersion: UInt8 = 1

    /// The response as bytes; nil if it is too long.
    ///
    /// The form: the version, the status in two bytes, the number of fields in one byte, and then texts, each after its
    /// length in two bytes: the type of the content (empty for none), the reason of a rejection (empty for none), name and
    /// value of each field, and the body.
    var storedForm: [UInt8]? {
        let texts = [contentType ?? "", rejection?.rawValue ?? ""] + fields.flatMap { [$0.name, $0.value] }
        let parts = texts.map { Array($0.utf8) } + [body]
        let length = parts.reduce(4) { $0 + 2 + $1.count }
        guard length <= Self.longestStoredForm, let count = UInt8(exactly: fields.count),
            let status = UInt16(exactly: status)
        else { return nil }
        var bytes = [Self.storedVersion, UInt8(status >> 8), UInt8(truncatingIfNeeded: status), count]
        bytes.reserveCapacity(length)
        for part in parts { bytes += [UInt8(part.count >> 8), UInt8(truncatingIfNeeded: part.count)] + part }
        return bytes
    }

    /// Reads a response from its stored form; nil if the bytes are not one.
    init?(storedForm bytes: [UInt8]) {
        guard bytes.count >= 4, bytes[0] == Self.storedVersion else { return nil }
        var rest = bytes[4...]
        func next() -> ArraySlice<UInt8>? {
            guard rest.count >= 2 else { return nil }
            let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
            guard rest.count >= length else { return nil }
            defer { rest = rest.dropFirst(length) }
            return rest.prefix(length)
        }
        func text() -> String? { next().flatMap { String(validating: $0, as: UTF8.self) } }
        guard let type = text(), let reason = text() else { return nil }
        self.init(status: Int(bytes[1]) << 8 | Int(bytes[2]), contentType: type.isEmpty ? nil : type)
        if !reason.isEmpty {
            guard let code = RejectionCode(rawValue: reason) else { return nil }
            rejection = code
        }
        for _ in 0..<bytes[3] {
            guard let name = text(), let value = text() else { return nil }
            fields.append(Field(name, value))
        }
        guard let body = next(), rest.isEmpty else { return nil }
        self.body = Array(body)
    }
}

internal import GatewayCore
internal import NIOCore

/// The value of `Idempotency-Key`, by which a sender identifies a send: 1–255 visible ASCII characters.
struct IdempotencyKey: Sendable, Hashable {
    static let longest = 255

    let bytes: [UInt8]

    /// Reads the key of a request; returns nil if there is none.
    static func read(_ field: ReceivedRequest.FieldValue) throws(Rejection) -> IdempotencyKey? {
        switch field {
        case .absent: return nil
        case .repeated: throw Rejection(.malformedRequest, "Idempotency-Key is repeated")
        case .single(let value):
            let bytes = Array(value.readableBytesView)
            guard (1...longest).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw Rejection(
                    .malformedRequest, "Idempotency-Key is malformed",
                    hint: "Idempotency-Key must have 1 to 255 visible ASCII characters.")
            }
            return IdempotencyKey(bytes: bytes)
        }
    }
}

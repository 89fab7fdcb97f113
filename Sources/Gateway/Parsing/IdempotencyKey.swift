internal import GatewayCore
internal import NIOCore

/// What a sender gives a send to know it again by: 1–255 visible ASCII characters of its own choice.
struct IdempotencyKey: Sendable, Hashable {
    static let longest = 255

    let bytes: [UInt8]

    /// The key of a request, or nil where it has none.
    static func read(_ field: ReceivedRequest.FieldValue) throws(Refusal) -> IdempotencyKey? {
        switch field {
        case .absent: return nil
        case .repeated: throw Refusal(.malformedRequest, "Idempotency-Key is repeated")
        case .single(let value):
            let bytes = Array(value.readableBytesView)
            guard (1...longest).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw Refusal(
                    .malformedRequest, "Idempotency-Key is none",
                    hint: "Idempotency-Key takes 1 to 255 visible ASCII characters.")
            }
            return IdempotencyKey(bytes: bytes)
        }
    }
}

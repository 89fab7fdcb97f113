/// The random number that pairs a response with its request.
struct Nonce: Hashable, Sendable {
    static let count = 16
    let bytes: [UInt8]

    /// Creates a random nonce.
    init() {
        var generator = SystemRandomNumberGenerator()
        bytes = (0..<Self.count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    init?(_ reader: inout PacketReader) {
        guard let bytes = reader.bytes(Self.count) else { return nil }
        self.bytes = Array(bytes)
    }
}

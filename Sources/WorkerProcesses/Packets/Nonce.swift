internal import GatewaySupport

/// The random number that pairs a response with its request.
package struct Nonce: Hashable, Sendable {
    /// The length in bytes.
    package static let count = 16
    /// The bytes.
    package let bytes: [UInt8]

    /// Creates a random nonce.
    package init() { bytes = RandomBytes.make(Self.count) }

    /// Reads a nonce; returns nil if too few bytes are left.
    package init?(_ reader: inout PacketReader) {
        guard let bytes = reader.bytes(Self.count) else { return nil }
        self.bytes = Array(bytes)
    }
}

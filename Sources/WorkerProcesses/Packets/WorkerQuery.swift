/// A request to a worker, with the coding of its packet and of the response's packet.
package protocol WorkerQuery: Sendable {
    /// The worker's response.
    associatedtype Response: Sendable

    /// The maximum length of a response's packet in bytes, below the default socket buffer size.
    static var maximumResponseLength: Int { get }

    /// Encodes the request. Returns nil if it does not fit into a packet.
    func packet(_ nonce: Nonce) -> WipedBuffer?

    /// Decodes the response to the request with the nonce; returns nil for any other packet.
    static func response(in packet: UnsafeRawBufferPointer, to nonce: Nonce) -> Response?

    /// Returns whether the worker may serve another request after this response.
    static func allowsReuse(after response: Response) -> Bool
}

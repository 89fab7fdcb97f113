public import GatewayCore
public import NIOCore

/// What the listener hands complete requests to. `Gateway` is the one implementation of the product; a seam for tests.
public protocol CallServing: Sendable {
    /// Decides and carries out one call. Runs on the event loop that calls it, never throws, is never cancelled.
    func serve(_ request: ReceivedRequest) async -> Answer
    /// The answer to a request that the listener could not frame: nothing of it is interpreted.
    func refuse(_ refusal: Refusal, id: CallID) -> Answer
    /// Whether a request for the path is for the backend, as far as the path says it. What is not can be answered while calls for the
    /// backend have every place. Asked only then.
    func needsBackend(_ path: ByteBuffer) -> Bool
}

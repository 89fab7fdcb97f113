public import GatewayCore

/// What the listener hands complete requests to. `Gateway` is the one implementation of the product; a seam for tests.
public protocol CallServing: Sendable {
    /// Decides and carries out one call. Runs on the event loop that calls it, never throws, is never cancelled.
    func serve(_ request: ReceivedRequest) async -> Answer
    /// The answer to a request that the listener could not frame: nothing of it is interpreted.
    func refuse(_ refusal: Refusal, id: CallID) -> Answer
}

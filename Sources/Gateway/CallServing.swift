public import GatewayCore
public import NIOCore

/// The interface between listener and request pipeline. `Gateway` implements it; tests substitute other
/// implementations.
public protocol CallServing: Sendable {
    /// Processes one call. Runs on the event loop of the caller, never throws and is never cancelled.
    func serve(_ request: ReceivedRequest) async -> Answer
    /// Returns the response to a request that the listener could not frame. No part of the request is interpreted.
    func refuse(_ refusal: Refusal, id: CallID) -> Answer
    /// Returns whether the path belongs to a call that needs the backend. Other calls can be served while calls for the
    /// backend occupy all places. Called only in that situation.
    func needsBackend(_ path: ByteBuffer) -> Bool
}

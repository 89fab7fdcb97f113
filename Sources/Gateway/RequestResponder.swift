public import GatewayCore
public import NIOCore

/// The interface between listener and request pipeline. `Gateway` implements it; tests substitute other
/// implementations.
public protocol RequestResponder: Sendable {
    /// Processes one call. Runs on the event loop of the caller, never throws and is never cancelled.
    func serve(_ request: ReceivedRequest) async -> Response
    /// Returns the response to a request that the listener could not frame. No part of the request is interpreted.
    func reject(_ rejection: Rejection, id: CallID) -> Response
    /// Returns whether the path belongs to a call that needs the backend. Other calls can be served while calls for the
    /// backend occupy all places. Called only in that situation.
    func needsBackend(_ path: ByteBuffer) -> Bool
}

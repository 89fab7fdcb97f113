public import GatewayCore
public import NIOCore

/// The interface by which the listener calls the request pipeline. `Gateway` implements it; tests substitute other
/// implementations.
public protocol RequestResponder: Sendable {
    /// Processes one call. Runs on the event loop of the caller, never throws and is never cancelled.
    func serve(_ request: ReceivedRequest) async -> Response
    /// Returns the response to a request that the listener could not frame. No part of the request is interpreted.
    func reject(_ rejection: Rejection, id: CallID) -> Response
    /// Returns whether the path belongs to a call that needs the backend. Called only while such calls occupy all
    /// places of the in-flight limit; other calls can still be served.
    func needsBackend(_ path: ByteBuffer) -> Bool
}

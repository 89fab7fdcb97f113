internal import Gateway
internal import GatewayCore
internal import GatewaySupport

extension ListenerLoop {
    /// Adds the client's certificate to a request without `Authorization`. Called only if the connection has a
    /// certificate or the listener accepts forwarded ones.
    ///
    /// The certificate of a trusted proxy's own connection is never the client's. A certificate that a listener
    /// requires, and that has become invalid since the handshake, makes every call fail: `Authorization` is dropped.
    func addCertificate(
        to request: inout ReceivedRequest, of framed: FramedRequest, peer: Peer, presented: PresentedCertificate?
    ) {
        if let presented, presented.isRequired {
            let result = presented.result(now: clocks.wall())
            guard result.isVerified else {
                request.authorization = .absent
                request.certificate = result
                return
            }
        }
        guard request.authorization == .absent else { return }
        if let forwarding = framed.head.forwarding, forwarding.source != .proxyProtocol {
            request.certificate = forwardedCertificates?.result(
                of: forwarding, in: framed.headBytes, now: clocks.wall())
        } else if let presented, !configuration.trustedProxies.includes(peer) {
            request.certificate = presented.result(now: clocks.wall())
        }
    }
}

internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A client connection that can be drained and closed by its listener.
protocol ListenerConnection: AnyObject {
    /// Makes the next response the last one.
    func announceShutdown()
    /// Closes the connection after its current requests.
    func drain()
    /// Closes the connection at once.
    func closeImmediately()
    /// Closes an idle connection at once to make room for another.
    func evict()
    /// Whether the client has not yet read its last response completely.
    var hasUnsentBytes: Bool { get }
}

/// The state that the connections of one listener share on one event loop. Loop-bound, without locks.
final class ListenerLoop {
    let eventLoop: any EventLoop
    let executor: EventLoopExecutor
    /// The request pipeline for calls that start from now on.
    var serving: any RequestResponder
    let configuration: ListenerConfiguration
    let clocks: Clocks
    /// The certificates that trusted proxies forward; nil if they are ignored.
    let forwardedCertificates: ForwardedCertificates?
    /// Whether credentials on an unencrypted connection may be verified.
    let allowsCredentials: Bool
    var ids = CallIDGenerator()
    var responseWriter: ResponseWriter
    /// The queue of calls that wait for admission.
    let admissionQueue: AdmissionQueue
    /// The scheduler for HTTP/2 frames, pipelined HTTP/1.1 requests and TLS handshakes.
    let turns: TurnScheduler
    /// The allowances of clients behind trusted proxies, for requests that they abort over HTTP/2.
    var proxiedClients = ProxiedClientAllowances()
    /// The number of calls in progress, including those whose client has disconnected.
    var callsInFlight: Int { admissionQueue.inFlight }
    /// The idle connections of all listeners on this event loop.
    private let idleConnections: EvictionCandidates
    private let connectionLimit: ConnectionLimit
    private var connections: [ObjectIdentifier: any ListenerConnection] = [:]
    private var drained: EventLoopPromise<Void>?
    private var callsCompleted: EventLoopPromise<Void>?
    private var announcesClose = false
    private var isStopped = false
    private var accepted: UInt64 = 0

    init(
        eventLoop: any EventLoop, serving: any RequestResponder, configuration: ListenerConfiguration,
        allowsCredentials: Bool, clocks: Clocks, tick: EventLoopTick? = nil
    ) {
        self.eventLoop = eventLoop
        self.executor = EventLoopExecutor(on: eventLoop)
        self.serving = serving
        self.configuration = configuration
        self.allowsCredentials = allowsCredentials
        self.clocks = clocks
        forwardedCertificates = configuration.forwardedCertificates.map(ForwardedCertificates.init)
        self.responseWriter = ResponseWriter(clocks: clocks)
        connectionLimit = configuration.connectionLimit ?? ConnectionLimit(configuration.connections)
        idleConnections = connectionLimit.idleConnections(on: eventLoop)
        self.admissionQueue = AdmissionQueue(for: configuration.calls, on: eventLoop, tick: tick)
        self.turns = TurnScheduler(on: eventLoop, tick: tick)
    }

    /// Returns the source of client addresses if the peer is a trusted proxy; nil if it is not.
    func trustedProxy(_ peer: Peer) -> TrustedProxies.Source? {
        configuration.trustedProxies.includes(peer) ? configuration.trustedProxies.source : nil
    }

    /// Returns whether credentials on a connection may be verified.
    ///
    /// - Parameters:
    ///   - isEncrypted: Whether the connection is encrypted, by TLS here or as reported by a proxy.
    ///   - usesProxyProtocol: Whether a trusted proxy has opened the connection on behalf of a client. In that case it does not
    ///     matter whether the listener is reachable only from this machine.
    func allowsCredentials(isEncrypted: Bool, usesProxyProtocol: Bool) -> Bool {
        isEncrypted || (usesProxyProtocol ? configuration.allowsPlaintextCredentials : allowsCredentials)
    }

    /// Returns an account for the memory of a connection.
    ///
    /// - Parameter share: The share of a connection of one client.
    func memoryAccount(of peer: Peer, part share: RequestMemory.Share = .client) -> RequestMemory.Account {
        let isProxy = configuration.trustedProxies.includes(peer)
        return RequestMemory.Account(
            of: configuration.requestMemory, part: isProxy ? .proxy : share,
            address: isProxy || peer.address == .local ? nil : peer.limitKey, peer: peer.text)
    }

    /// Records that an HTTP/2 connection was closed because of frames that its client may not send, or too many of them.
    func exceededFrameLimit(_ peer: Peer) { connectionLimit.frameLimit.record(peer.text) }

    /// Returns the request in the form of the request pipeline, on behalf of the client that a trusted proxy reports.
    ///
    /// - Parameter certificate: The certificate that the peer presented in the TLS handshake; nil if there is none.
    func request(
        _ framed: FramedRequest, id: CallID, peer: Peer, allowsCredentials: Bool, certificate: PresentedCertificate?
    ) -> ReceivedRequest {
        var request = request(framed, id: id, peer: peer, allowsCredentials: allowsCredentials)
        if certificate != nil || forwardedCertificates != nil {
            addCertificate(to: &request, of: framed, peer: peer, presented: certificate)
        }
        return request
    }

    private func request(
        _ framed: FramedRequest, id: CallID, peer: Peer, allowsCredentials: Bool
    ) -> ReceivedRequest {
        let trust = configuration.trustedProxies
        guard trust.source != .proxyProtocol, let origin = framed.origin(behind: peer, trust) else {
            var request = framed.received(id: id, peer: peer, allowsCredentials: allowsCredentials)
            // The peer is itself a proxy, for example one that opened a PROXY protocol connection for itself.
            if !trust.proxies.isEmpty, trust.includes(peer) { request.addressIdentifiesClient = false }
            return request
        }
        // Only the proxy knows how the client is connected: a loopback address or TLS on this connection says nothing
        // about the client's own connection. Without a report from the proxy, that connection counts as unencrypted.
        var request = framed.received(
            id: id, peer: origin.peer,
            allowsCredentials: origin.isEncrypted || configuration.allowsPlaintextCredentials)
        if trust.includes(origin.peer) { request.addressIdentifiesClient = false }
        return request
    }

    /// Admits a call if a place is free. If calls for the backend have taken all places, a call that needs no backend
    /// is admitted to the reserve.
    func admit(_ framed: FramedRequest) -> Bool {
        if admissionQueue.admit() { return true }
        guard admissionQueue.isAtLimit, !serving.needsBackend(framed.path) else { return false }
        return admissionQueue.admitUsingReserve()
    }

    /// Returns the response to a call that exceeds the limit on calls in flight.
    func overloadResponse(_ id: CallID) -> Response {
        serving.reject(
            Rejection(.overloaded, "too many calls are in flight", extra: .retryAfter(seconds: 1)), id: id)
    }

    /// The time for which a connection that becomes idle now is kept.
    var idleTime: TimeAmount {
        let usual = configuration.deadlines.idle
        return connectionLimit.isNearlyFull ? .nanoseconds(usual.nanoseconds / 4) : usual
    }

    /// Adds a connection to those that may be closed while idle. Connections of trusted proxies and Unix sockets are
    /// closed only if there is no other candidate.
    func evictionEntry(for connection: any ListenerConnection, of peer: Peer) -> EvictionCandidates.Entry {
        idleConnections.add(connection, of: carriesManyClients(peer) ? nil : peer.network)
    }

    /// Returns the owner of a connection's turns.
    func turnOwner(of connection: AnyObject, of peer: Peer) -> TurnOwner {
        carriesManyClients(peer) ? .connection(ObjectIdentifier(connection)) : .network(peer.network)
    }

    /// Returns the owner of a call's turns: the client that a trusted proxy reports, or the owner of the connection's turns.
    func turnOwner(of call: FramedRequest, on connection: AnyObject, of peer: Peer) -> TurnOwner {
        proxiedPeer(of: call, behind: peer).map { .network($0.network) } ?? turnOwner(of: connection, of: peer)
    }

    /// Returns whether the connections of the peer carry the calls of many clients.
    func carriesManyClients(_ peer: Peer) -> Bool {
        peer.address == .local || configuration.trustedProxies.includes(peer)
    }

    /// Returns the client that a trusted proxy reports for a request, as the key of limits; nil if it is unknown.
    func proxiedClient(of framed: FramedRequest, behind peer: Peer) -> Peer.Address? {
        proxiedPeer(of: framed, behind: peer)?.limitKey
    }

    private func proxiedPeer(of framed: FramedRequest, behind peer: Peer) -> Peer? {
        let trust = configuration.trustedProxies
        guard trust.source != .proxyProtocol, let origin = framed.origin(behind: peer, trust),
            !trust.includes(origin.peer)
        else { return nil }
        return origin.peer
    }

    /// Registers a new connection.
    func join(_ connection: any ListenerConnection) {
        connections[ObjectIdentifier(connection)] = connection
        accepted += 1
        if announcesClose { connection.announceShutdown() }
        // The listener stopped while the connection was being set up. Its first request may be on its way.
        if isStopped { connection.closeImmediately() } else if drained != nil { connection.drain() }
    }

    /// A snapshot of the loop's counts.
    var statistics: ListenerStatistics {
        ListenerStatistics(
            connections: connections.count, calls: callsInFlight, waiting: admissionQueue.count, accepted: accepted)
    }

    /// Removes a closed connection. Its calls may continue.
    func leave(_ connection: any ListenerConnection) {
        connections[ObjectIdentifier(connection)] = nil
        checkDrained()
    }

    /// Records that a call has completed.
    func finishedCall() {
        admissionQueue.release()
        if callsInFlight == 0 { callsCompleted?.succeed() }
        checkDrained()
    }

    /// Makes all connections close after their next response, including connections that join later.
    func announceShutdown() {
        announcesClose = true
        for connection in connections.values { connection.announceShutdown() }
    }

    /// Drains all connections and closes the remaining ones at the deadline. The future succeeds when no connection and
    /// no call is left, or at the deadline. With several calls of this function the earliest deadline applies.
    func drain(until deadline: NIODeadline) -> EventLoopFuture<Void> {
        let promise = drained ?? eventLoop.makePromise(of: Void.self)
        drained = promise
        for connection in Array(connections.values) { connection.drain() }
        checkDrained()
        let timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.isStopped = true
            for connection in Array(self.connections.values) { connection.closeImmediately() }
            promise.succeed()
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        return promise.futureResult
    }

    /// Returns a future that succeeds when all calls have completed, including those of closed connections, or at the
    /// deadline.
    func allCallsCompleted(by deadline: NIODeadline) -> EventLoopFuture<Void> {
        if callsInFlight == 0 { return eventLoop.makeSucceededVoidFuture() }
        let promise = callsCompleted ?? eventLoop.makePromise(of: Void.self)
        callsCompleted = promise
        let timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            // Later callers wait on a new promise.
            self.callsCompleted = nil
            promise.succeed()
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        return promise.futureResult
    }

    private func checkDrained() {
        if callsInFlight == 0, connections.isEmpty { drained?.succeed() }
    }
}

@available(*, unavailable)
extension ListenerLoop: Sendable {}

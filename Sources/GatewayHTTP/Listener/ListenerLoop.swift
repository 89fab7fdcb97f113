internal import Gateway
internal import GatewayCore
internal import NIOCore

/// Something on a client's connection that is told when the listener ends.
protocol ListenerConnection: AnyObject {
    /// Has the next answer be the last.
    func announceEnd()
    /// Ends the connection after what is in it.
    func drain()
    /// Ends it at once.
    func cut()
    /// Ends it at once while it is idle: another one needs its place.
    func evict()
    /// Whether the client has not read all of its last answer.
    var hasUnsentBytes: Bool { get }
}

/// What the connections of one listener on one event loop share. Loop-bound: no lock anywhere.
final class ListenerLoop {
    let eventLoop: any EventLoop
    let executor: EventLoopExecutor
    /// What serves the calls that begin from now on.
    var serving: any RequestResponder
    let configuration: ListenerConfiguration
    /// Whether a credential that comes this way may be judged.
    let allowsCredentials: Bool
    var ids = CallIDGenerator()
    var answers: ResponseWriter
    /// Calls for which there is no place yet.
    let waiting: AdmissionQueue
    /// The frames of HTTP/2 connections that wait to be handled.
    let frames: FrameScheduler
    /// Calls that `serve` has not answered, those of clients that left included.
    var callsInFlight: Int { waiting.inFlight }
    /// The connections of this event loop and of all listeners, by how long they are idle.
    private let idleConnections: IdleConnections
    private let caps: ConnectionLimit
    private var connections: [ObjectIdentifier: any ListenerConnection] = [:]
    private var drained: EventLoopPromise<Void>?
    private var callsEnded: EventLoopPromise<Void>?
    private var isLeaving = false
    private var isOver = false
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
        self.answers = ResponseWriter(clocks: clocks)
        caps = configuration.caps ?? ConnectionLimit(configuration.connections)
        idleConnections = caps.idleConnections(on: eventLoop)
        self.waiting = AdmissionQueue(for: configuration.calls, on: eventLoop, tick: tick)
        self.frames = FrameScheduler(on: eventLoop, tick: tick)
    }

    /// By what a peer is believed for whom its requests are, and which traces they belong to; nil where it is not.
    func trustedProxy(_ peer: Peer) -> TrustedProxies.Source? {
        configuration.trust.includes(peer) ? configuration.trust.source : nil
    }

    /// Whether a credential may be judged that comes over a connection.
    ///
    /// - Parameters:
    ///   - isEncrypted: whether nobody on the way can read the connection, by TLS here or by the word of a proxy.
    ///   - isProxied: whether a listed proxy has made the connection for somebody else. Then it counts for nothing that the listener
    ///     can be reached from this machine alone.
    func allowsCredentials(isEncrypted: Bool, isProxied: Bool) -> Bool {
        isEncrypted || (isProxied ? configuration.plaintextCredentials : allowsCredentials)
    }

    /// What a connection of the peer may hold of the memory for incomplete requests.
    func memoryAccount(of peer: Peer) -> RequestMemory.Account {
        RequestMemory.Account(
            of: configuration.requestMemory, part: configuration.trust.includes(peer) ? .proxy : .client)
    }

    /// The request as the way of a call takes it, as that of the client behind the peer where the peer is believed.
    func request(
        _ framed: FramedRequest, id: CallID, peer: Peer, allowsCredentials: Bool
    ) -> ReceivedRequest {
        let trust = configuration.trust
        guard trust.source != .proxyProtocol, let origin = framed.origin(behind: peer, trust) else {
            var request = framed.received(id: id, peer: peer, allowsCredentials: allowsCredentials)
            // A proxy of the PROXY protocol that speaks for itself, say.
            if !trust.proxies.isEmpty, trust.includes(peer) { request.countsByAddress = false }
            return request
        }
        // The proxy knows how the client came, and this connection does not: a loopback address or TLS behind the proxy says nothing
        // of the way before it. A proxy that says nothing does not say https.
        var request = framed.received(
            id: id, peer: origin.peer,
            allowsCredentials: origin.isEncrypted || configuration.plaintextCredentials)
        if trust.includes(origin.peer) { request.countsByAddress = false }
        return request
    }

    /// Gives a call a place at once, if there is one for it. What the gateway answers by itself has places of its own where calls for
    /// the backend have taken all others.
    func admit(_ framed: FramedRequest) -> Bool {
        if waiting.admit() { return true }
        guard waiting.hasNoPlace, !serving.needsBackend(framed.path) else { return false }
        return waiting.admitToReserve()
    }

    /// The answer to a call that is one too many in flight.
    func answerToOneTooMany(_ id: CallID) -> Response {
        serving.reject(
            Rejection(.overloaded, "too many calls are in flight", extra: .retryAfter(seconds: 1)), id: id)
    }

    /// How long a connection is kept that is idle from now on.
    var idleTime: TimeAmount {
        let usual = configuration.deadlines.idle
        return caps.isNearlyFull ? .nanoseconds(usual.nanoseconds / 4) : usual
    }

    /// Adds a connection to those that may be closed while they are idle. Connections of listed proxies and of Unix sockets are closed
    /// only where there is no other.
    func idleEntry(for connection: any ListenerConnection, of peer: Peer) -> IdleConnections.Entry {
        let isExempt = peer.address == .local || configuration.trust.includes(peer)
        return idleConnections.add(connection, of: isExempt ? nil : peer.network)
    }

    /// A connection is there.
    func join(_ connection: any ListenerConnection) {
        connections[ObjectIdentifier(connection)] = connection
        accepted += 1
        if isLeaving { connection.announceEnd() }
        // It was accepted before the listener stopped, and got here after: its request may be on its way.
        if isOver { connection.cut() } else if drained != nil { connection.drain() }
    }

    /// How it stands.
    var reading: ListenerStatistics {
        ListenerStatistics(
            connections: connections.count, calls: callsInFlight, waiting: waiting.count, accepted: accepted)
    }

    /// A connection is gone; calls of it may go on.
    func leave(_ connection: any ListenerConnection) {
        connections[ObjectIdentifier(connection)] = nil
        checkDrained()
    }

    /// `serve` has answered.
    func finishedCall() {
        waiting.leave()
        if callsInFlight == 0 { callsEnded?.succeed() }
        checkDrained()
    }

    /// Has every connection end after its next answer; those too that are still to come.
    func announceEnd() {
        isLeaving = true
        for connection in connections.values { connection.announceEnd() }
    }

    /// Ends all connections after what is in them, and cuts those that are left at the deadline. The future succeeds when no
    /// connection and no call is left, or at the deadline. Asked again, the earlier deadline holds.
    func drain(until deadline: NIODeadline) -> EventLoopFuture<Void> {
        let promise = drained ?? eventLoop.makePromise(of: Void.self)
        drained = promise
        for connection in Array(connections.values) { connection.drain() }
        checkDrained()
        let timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.isOver = true
            for connection in Array(self.connections.values) { connection.cut() }
            promise.succeed()
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        return promise.futureResult
    }

    /// The future succeeds when `serve` has answered every call, those of connections that were cut included, or at the deadline.
    func endOfCalls(by deadline: NIODeadline) -> EventLoopFuture<Void> {
        if callsInFlight == 0 { return eventLoop.makeSucceededVoidFuture() }
        let promise = callsEnded ?? eventLoop.makePromise(of: Void.self)
        callsEnded = promise
        let timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            // Who asks from now on waits anew.
            self.callsEnded = nil
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

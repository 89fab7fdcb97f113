internal import Gateway
internal import GatewayCore
internal import NIOCore

/// The connections to the backend of one event loop. Loop-bound: calls of the loop find theirs without a lock or a hop.
///
/// Of several addresses a call goes to the one with the least to do, among those that are worth it. Where a connection cannot
/// be made, the next address is tried; once a byte of a request was written it stays where it is.
final class UpstreamLoop {
    let eventLoop: any EventLoop
    let configuration: UpstreamConfiguration
    let destinations: [UpstreamDestination]
    var checks = CircularBuffer<Scheduled<Void>>()

    private let maximum: Int
    private let connects: ConnectCounters
    private var connections: [ObjectIdentifier: UpstreamConnection] = [:]
    private var waiting = CircularBuffer<PendingExchange>()
    /// Connections that are there or are being made.
    private var open = 0
    /// Where the search for a destination begins, so that those with equally much to do take turns.
    private var turn = 0
    private(set) var isShutDown = false
    private var emptied: EventLoopPromise<Void>?
    private let idleTimer: DeadlineTimer

    /// - Parameter health: what the checks say of each address, in the order of the configuration.
    init(
        eventLoop: any EventLoop, configuration: UpstreamConfiguration, health: [DestinationHealth], maximum: Int,
        connects: ConnectCounters
    ) {
        self.eventLoop = eventLoop
        self.configuration = configuration
        self.maximum = maximum
        self.connects = connects
        destinations = zip(configuration.addresses, health).map { UpstreamDestination($0, health: $1) }
        self.idleTimer = DeadlineTimer(on: eventLoop)
        idleTimer.start { self.closeIdle() }
    }

    /// Whether one more request would find neither a connection nor room to wait for one.
    var isFull: Bool {
        // Asked once a call: what costs least first.
        open >= maximum && waiting.count >= configuration.waiting && destinations.allSatisfy(\.idle.isEmpty)
    }

    /// Sends the request, now or when a connection is free; answers it in the end.
    func send(_ exchange: PendingExchange) {
        if isShutDown { return exchange.finish(.unreachable("the gateway is stopping")) }
        if exchange.deadline <= eventLoop.now { return exchange.finish(.timedOut) }
        guard let destination = destination(for: exchange) else { return exchange.finish(.suspended) }
        if let connection = takeIdle(of: destination, for: exchange) {
            connection.start(exchange)
        } else if open < maximum {
            connect(for: exchange, to: destination)
        } else if waiting.count < configuration.waiting {
            waiting.append(exchange)
            exchange.startTimer(on: eventLoop) { self.giveUp(exchange) }
        } else {
            exchange.finish(.overloaded)
        }
    }

    /// How it stands.
    var reading: UpstreamReading {
        UpstreamReading(
            open: open, idle: destinations.reduce(0) { $0 + $1.idle.count }, waiting: waiting.count,
            destinations: destinations.map { .init(address: $0.address.description, isAvailable: $0.isAvailable) })
    }

    /// The connection has answered and may be used again.
    func release(_ connection: UpstreamConnection) {
        // It may have ended in the same moment.
        guard !isShutDown, connection.isUsable, eventLoop.now - connection.opened < configuration.age else {
            return retire(connection)
        }
        if let next = waiting.popFirst() { return connection.start(next) }
        connection.destination.idle.append(connection)
        armIdleTimer()
    }

    /// The connection shall not be used again.
    func retire(_ connection: UpstreamConnection) {
        forget(connection)
        connection.close()
        connectWaiting()
    }

    /// The connection is gone, and with it perhaps the answer to a request.
    func closed(
        _ connection: UpstreamConnection, exchange: PendingExchange?, answerHasBegun: Bool, reason: String
    ) {
        forget(connection)
        if let exchange {
            // The backend may close a connection that it found idle while a request is under way on it. What may be done
            // twice is tried once more; a fresh connection that dies says something of the backend instead.
            if !connection.isReused, !answerHasBegun, !isShutDown { note(failureOf: connection.destination) }
            let mayTryAgain = exchange.mayBeRepeated && connection.isReused && !answerHasBegun && !exchange.isRepeated
            if mayTryAgain, !isShutDown, exchange.deadline > eventLoop.now {
                exchange.isRepeated = true
                connect(for: exchange, to: connection.destination)
            } else {
                exchange.finish(isShutDown ? .cutOff : .broken(reason))
            }
        }
        connectWaiting()
    }

    /// Closes everything, at once; the future succeeds when nothing is left.
    func shutDown() -> EventLoopFuture<Void> {
        let promise = emptied ?? eventLoop.makePromise(of: Void.self)
        emptied = promise
        isShutDown = true
        idleTimer.stop()
        for check in checks { check.cancel() }
        checks = []
        for destination in destinations { destination.trial?.cancel() }
        while let exchange = waiting.popFirst() { exchange.finish(.unreachable("the gateway is stopping")) }
        for connection in Array(connections.values) { connection.close() }
        if open == 0 { promise.succeed() }
        return promise.futureResult
    }

    /// The one with the least to do of those that are worth it and that the request has not tried; nil where there is none.
    private func destination(for exchange: PendingExchange) -> UpstreamDestination? {
        var best: UpstreamDestination?
        for offset in destinations.indices {
            let index = (turn + offset) % destinations.count
            let destination = destinations[index]
            guard destination.isAvailable, !exchange.tried.contains(ObjectIdentifier(destination)) else { continue }
            if best.map({ destination.busy < $0.busy }) ?? true { best = destination }
        }
        turn = (turn + 1) % destinations.count
        return best
    }

    private func takeIdle(of destination: UpstreamDestination, for exchange: PendingExchange) -> UpstreamConnection? {
        while let last = destination.idle.last {
            if !last.isUsable {
                destination.idle.removeLast()
            } else if eventLoop.now - last.opened >= configuration.age {
                destination.idle.removeLast()
                forget(last)
                last.close()
            } else if exchange.mayBeRepeated || eventLoop.now - last.lastUsed <= configuration.freshness {
                return destination.idle.removeLast()
            } else {
                // All others are older still. A full pool gives up one of them for a new connection.
                if open >= maximum { giveUpOldest() }
                return nil
            }
        }
        if open >= maximum { giveUpOldest() }
        return nil
    }

    /// Closes the idle connection that was used longest ago, to whichever address.
    private func giveUpOldest() {
        let oldest = destinations.compactMap(\.idle.first).min { $0.lastUsed < $1.lastUsed }
        guard let oldest else { return }
        forget(oldest)
        oldest.close()
    }

    /// - Parameters:
    ///   - exchange: What is sent by it; nil where it is only to be seen whether it can be made.
    ///   - isCheck: Whether no call waits for it: then no other address is tried.
    func connect(for exchange: PendingExchange?, to destination: UpstreamDestination, isCheck: Bool = false) {
        open += 1
        destination.open += 1
        exchange?.tried.append(ObjectIdentifier(destination))
        exchange?.startTimer(on: eventLoop) { exchange?.finish(.timedOut) }
        makeChannel(to: destination).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                self.connects.made.add()
                self.connected(channel, for: exchange, to: destination)
            case .failure(let error):
                self.connects.failed.add()
                self.leave(destination)
                self.note(failureOf: destination)
                self.notConnected("no connection to the backend: \(error)", exchange, isCheck: isCheck)
                self.connectWaiting()
            }
        }
    }

    private func notConnected(_ reason: String, _ exchange: PendingExchange?, isCheck: Bool) {
        guard let exchange, !exchange.isFinished else { return }
        // After a first attempt bytes have left, whatever became of the second.
        if exchange.isRepeated { return exchange.finish(.broken(reason)) }
        if isCheck || isShutDown { return exchange.finish(.unreachable(reason)) }
        if let next = self.destination(for: exchange), exchange.deadline > eventLoop.now {
            connect(for: exchange, to: next)
        } else {
            exchange.finish(.unreachable(reason))
        }
    }

    private func connected(_ channel: any Channel, for exchange: PendingExchange?, to destination: UpstreamDestination)
    {
        guard let connection = try? channel.pipeline.syncOperations.handler(type: UpstreamConnection.self) else {
            // It was closed while it was being made, and its handler is gone with it.
            leave(destination)
            note(failureOf: destination)
            exchange?.finish(exchange?.isRepeated == true ? .broken("closed at once") : .unreachable("closed at once"))
            return connectWaiting()
        }
        // Of an address that is in use only an answer says that it is well.
        if !destination.circuit.isClosed { destination.circuit.succeeded() }
        connections[ObjectIdentifier(connection)] = connection
        if isShutDown {
            exchange?.finish(exchange?.isRepeated == true ? .cutOff : .unreachable("the gateway is stopping"))
            retire(connection)
        } else if let exchange, !exchange.isFinished {
            connection.start(exchange)
        } else {
            release(connection)
        }
    }

    private func note(failureOf destination: UpstreamDestination) {
        destination.circuit.failed(now: eventLoop.now)
        guard !destination.circuit.isClosed else { return }
        scheduleTrial(of: destination)
        // Who waits for a connection shall not wait for what is left alone.
        guard !destinations.contains(where: \.isAvailable) else { return }
        while let exchange = waiting.popFirst() { exchange.finish(.suspended) }
    }

    private func connectWaiting() {
        while open < maximum, !isShutDown, let exchange = waiting.popFirst() {
            if let destination = destination(for: exchange) {
                connect(for: exchange, to: destination)
            } else {
                exchange.finish(.suspended)
            }
        }
    }

    private func giveUp(_ exchange: PendingExchange) {
        waiting.removeAll { $0 === exchange }
        exchange.finish(.timedOut)
    }

    private func forget(_ connection: UpstreamConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connection.isRetired = true
        connection.destination.idle.removeAll { $0 === connection }
        leave(connection.destination)
    }

    private func leave(_ destination: UpstreamDestination) {
        open -= 1
        destination.open -= 1
        if open == 0 { emptied?.succeed() }
    }

    private func armIdleTimer() {
        var oldest: NIODeadline?
        for destination in destinations {
            guard let first = destination.idle.first?.lastUsed else { continue }
            oldest = oldest.map { min($0, first) } ?? first
        }
        idleTimer.set(oldest.map { $0 + configuration.idle })
    }

    private func closeIdle() {
        for destination in destinations {
            while let oldest = destination.idle.first, oldest.lastUsed + configuration.idle <= eventLoop.now {
                destination.idle.removeFirst()
                forget(oldest)
                oldest.close()
            }
        }
        armIdleTimer()
    }
}

@available(*, unavailable)
extension UpstreamLoop: Sendable {}

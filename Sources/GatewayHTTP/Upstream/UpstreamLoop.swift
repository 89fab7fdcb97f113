internal import Gateway
internal import NIOCore
internal import NIOPosix

/// The connections to the backend of one event loop. Loop-bound: calls of the loop find theirs without a lock or a hop.
final class UpstreamLoop {
    let eventLoop: any EventLoop
    let configuration: UpstreamConfiguration

    private let maximum: Int
    private var connections: [ObjectIdentifier: UpstreamConnection] = [:]
    /// The most recently used last.
    private var idle = CircularBuffer<UpstreamConnection>()
    private var waiting = CircularBuffer<PendingExchange>()
    /// Connections that are there or are being made.
    private var open = 0
    private var isShutDown = false
    private var emptied: EventLoopPromise<Void>?
    private let idleTimer: DeadlineTimer

    init(eventLoop: any EventLoop, configuration: UpstreamConfiguration, maximum: Int) {
        self.eventLoop = eventLoop
        self.configuration = configuration
        self.maximum = maximum
        self.idleTimer = DeadlineTimer(on: eventLoop)
        idleTimer.start { self.closeIdle() }
    }

    /// Whether one more request would find neither a connection nor room to wait for one.
    var isFull: Bool { idle.isEmpty && open >= maximum && waiting.count >= configuration.waiting }

    /// Sends the request, now or when a connection is free; answers it in the end.
    func send(_ exchange: PendingExchange) {
        if isShutDown { return exchange.finish(.unreachable("the gateway is stopping")) }
        if exchange.deadline <= eventLoop.now { return exchange.finish(.timedOut) }
        if let connection = takeIdle(for: exchange) {
            connection.start(exchange)
        } else if open < maximum {
            connect(for: exchange)
        } else if waiting.count < configuration.waiting {
            waiting.append(exchange)
            exchange.startTimer(on: eventLoop) { self.giveUp(exchange) }
        } else {
            exchange.finish(.overloaded)
        }
    }

    /// The connection has answered and may be used again.
    func release(_ connection: UpstreamConnection) {
        // It may have ended in the same moment.
        guard !isShutDown, connection.isUsable else { return retire(connection) }
        if let next = waiting.popFirst() { return connection.start(next) }
        idle.append(connection)
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
            let mayTryAgain = exchange.mayBeRepeated && connection.isReused && !answerHasBegun && !exchange.isRepeated
            if mayTryAgain, !isShutDown, exchange.deadline > eventLoop.now {
                exchange.isRepeated = true
                connect(for: exchange)
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
        while let exchange = waiting.popFirst() { exchange.finish(.unreachable("the gateway is stopping")) }
        for connection in Array(connections.values) { connection.close() }
        if open == 0 { promise.succeed() }
        return promise.futureResult
    }

    private func takeIdle(for exchange: PendingExchange) -> UpstreamConnection? {
        while let last = idle.last {
            if !last.isUsable {
                idle.removeLast()
            } else if exchange.mayBeRepeated || eventLoop.now - last.lastUsed <= configuration.freshness {
                return idle.removeLast()
            } else {
                // All others are older still. A full pool gives up one of them for a new connection.
                if open >= maximum, let oldest = idle.popFirst() {
                    forget(oldest)
                    oldest.close()
                }
                return nil
            }
        }
        return nil
    }

    private func connect(for exchange: PendingExchange) {
        open += 1
        exchange.startTimer(on: eventLoop) { exchange.finish(.timedOut) }
        makeChannel().assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel): self.connected(channel, for: exchange)
            case .failure(let error):
                self.leave()
                // After a first attempt bytes have left, whatever became of the second.
                let reason = "no connection to the backend: \(error)"
                exchange.finish(exchange.isRepeated ? .broken(reason) : .unreachable(reason))
                self.connectWaiting()
            }
        }
    }

    private func connected(_ channel: any Channel, for exchange: PendingExchange) {
        guard let connection = try? channel.pipeline.syncOperations.handler(type: UpstreamConnection.self) else {
            // It was closed while it was being made, and its handler is gone with it.
            leave()
            exchange.finish(exchange.isRepeated ? .broken("closed at once") : .unreachable("closed at once"))
            return connectWaiting()
        }
        connections[ObjectIdentifier(connection)] = connection
        if isShutDown {
            exchange.finish(exchange.isRepeated ? .cutOff : .unreachable("the gateway is stopping"))
            retire(connection)
        } else if exchange.isFinished {
            release(connection)
        } else {
            connection.start(exchange)
        }
    }

    private func connectWaiting() {
        while open < maximum, !isShutDown, let exchange = waiting.popFirst() { connect(for: exchange) }
    }

    private func giveUp(_ exchange: PendingExchange) {
        waiting.removeAll { $0 === exchange }
        exchange.finish(.timedOut)
    }

    private func forget(_ connection: UpstreamConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connection.isRetired = true
        idle.removeAll { $0 === connection }
        leave()
    }

    private func leave() {
        open -= 1
        if open == 0 { emptied?.succeed() }
    }

    private func armIdleTimer() {
        idleTimer.set(idle.first.map { $0.lastUsed + configuration.idle })
    }

    private func closeIdle() {
        while let oldest = idle.first, oldest.lastUsed + configuration.idle <= eventLoop.now {
            idle.removeFirst()
            forget(oldest)
            oldest.close()
        }
        armIdleTimer()
    }
}

@available(*, unavailable)
extension UpstreamLoop: Sendable {}

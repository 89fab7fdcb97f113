internal import Gateway
internal import NIOCore

/// The connection pool of one event loop. Calls on the loop use it without a lock or a thread switch. Loop-bound.
///
/// With several addresses a call uses the available one with the fewest busy connections. If the connection cannot be
/// made, the pool tries the next address. Once the first byte of a request has been written, the request stays with its
/// address.
final class UpstreamConnectionPool {
    let eventLoop: any EventLoop
    let configuration: UpstreamConfiguration
    let destinations: [UpstreamDestination]
    /// The maximum number of connections.
    let maximum: Int
    let connectCounters: ConnectCounters
    let idleTimer: DeadlineTimer
    let waitTimer: DeadlineTimer
    var checks = CircularBuffer<Scheduled<Void>>()
    /// The open connections.
    var connections: [ObjectIdentifier: UpstreamConnection] = [:]
    /// The requests that wait for a connection, in order of arrival.
    var waiting = CircularBuffer<PendingExchange>()
    /// A lower bound of the deadlines in `waiting`.
    var earliestDeadline = NIODeadline.distantFuture
    /// The number of connections that are open or being made.
    var open = 0
    /// The index where the next search for a destination starts, so that equally busy ones alternate.
    var turn = 0
    var isShutDown = false
    /// Set by `shutDown()`; succeeds when the last connection is closed.
    var emptied: EventLoopPromise<Void>?

    /// Creates a pool without connections.
    ///
    /// - Parameter health: The health of each address, in the order of the configuration.
    init(
        eventLoop: any EventLoop, configuration: UpstreamConfiguration, health: [DestinationHealth], maximum: Int,
        connectCounters: ConnectCounters
    ) {
        self.eventLoop = eventLoop
        self.configuration = configuration
        self.maximum = maximum
        self.connectCounters = connectCounters
        destinations = zip(configuration.addresses, health).map { UpstreamDestination($0, health: $1) }
        self.idleTimer = DeadlineTimer(on: eventLoop)
        self.waitTimer = DeadlineTimer(on: eventLoop)
        idleTimer.setExpiryHandler { self.closeExpiredIdle() }
        waitTimer.setExpiryHandler { self.failExpired() }
    }

    /// Whether a further request would find neither a free connection nor a free place in the queue.
    var isFull: Bool {
        // This is evaluated for every call, so the cheapest condition comes first.
        open >= maximum && waiting.count >= configuration.maximumWaiting && destinations.allSatisfy(\.idle.isEmpty)
    }

    /// Sends the request on an idle or a new connection, or queues it. The exchange is completed in every case.
    func send(_ exchange: PendingExchange) {
        if isShutDown { return exchange.finish(.unreachable("the gateway is stopping")) }
        if exchange.deadline <= eventLoop.now { return exchange.finish(.timedOut) }
        guard let destination = destination(for: exchange) else { return exchange.finish(.circuitOpen) }
        if let connection = removeIdle(of: destination, for: exchange) {
            if !connection.start(exchange) { release(connection) }
        } else if open < maximum {
            connect(for: exchange, to: destination)
        } else if waiting.count < configuration.maximumWaiting {
            enqueue(exchange)
        } else {
            exchange.finish(.overloaded)
        }
    }

    /// The current state of the pool.
    var statistics: UpstreamStatistics {
        UpstreamStatistics(
            open: open, idle: destinations.reduce(0) { $0 + $1.idle.count }, waiting: waiting.count,
            destinations: destinations.map { .init(address: $0.address.description, isAvailable: $0.isAvailable) })
    }

    /// Returns a connection to the pool after a response.
    func release(_ connection: UpstreamConnection) {
        // The connection may have closed at the same moment.
        guard !isShutDown, connection.isUsable, eventLoop.now - connection.opened < configuration.maximumAge else {
            return discard(connection)
        }
        while let next = waiting.popFirst() { if connection.start(next) { return } }
        connection.destination.idle.append(connection)
        armIdleTimer()
    }

    /// Closes a connection that must not be used again.
    func discard(_ connection: UpstreamConnection) {
        removeFromPool(connection)
        connection.close()
        connectWaiting()
    }

    /// Removes a closed connection and completes its exchange, or repeats the request once if that is safe.
    func closed(
        _ connection: UpstreamConnection, exchange: PendingExchange?, responseHasBegun: Bool, reason: String
    ) {
        removeFromPool(connection)
        if let exchange {
            // The backend may close an idle connection while a request is on its way. A retryable request is then
            // tried once more. If a new connection breaks, the backend itself has failed.
            if !connection.hasCompletedExchange, !responseHasBegun, !isShutDown {
                recordFailure(of: connection.destination)
            }
            let mayTryAgain =
                exchange.isRetryable && connection.hasCompletedExchange && !responseHasBegun && !exchange.isRetry
            if mayTryAgain, !isShutDown, exchange.deadline > eventLoop.now {
                exchange.isRetry = true
                connect(for: exchange, to: connection.destination)
            } else {
                exchange.finish(isShutDown ? .gatewayStopped : .broken(reason))
            }
        }
        connectWaiting()
    }
}

@available(*, unavailable)
extension UpstreamConnectionPool: Sendable {}

extension UpstreamConnectionPool {
    /// Queues the request until a connection is free.
    ///
    /// One timer serves the complete queue. An event loop cancels a timer by searching all of its scheduled tasks. With
    /// one timer per request and thousands of queued requests, each cancellation would take thousands of steps.
    func enqueue(_ exchange: PendingExchange) {
        waiting.append(exchange)
        guard waiting.count == 1 || exchange.deadline < earliestDeadline else { return }
        earliestDeadline = exchange.deadline
        waitTimer.set(earliestDeadline)
    }

    /// Fails the queued requests whose deadline has passed.
    func failExpired() {
        let now = eventLoop.now
        let late = waiting.filter { $0.deadline <= now }
        waiting.removeAll { $0.deadline <= now }
        earliestDeadline = waiting.lazy.map(\.deadline).min() ?? .distantFuture
        waitTimer.set(waiting.isEmpty ? nil : earliestDeadline)
        for exchange in late { exchange.finish(.timedOut) }
    }
}

// Removal of connections, and shutdown of the pool.

extension UpstreamConnectionPool {
    /// Closes all connections at once and fails all queued requests. The future succeeds when no connection is left.
    func shutDown() -> EventLoopFuture<Void> {
        let promise = emptied ?? eventLoop.makePromise(of: Void.self)
        emptied = promise
        isShutDown = true
        idleTimer.stop()
        waitTimer.stop()
        for check in checks { check.cancel() }
        checks = []
        for destination in destinations { destination.halfOpenProbe?.cancel() }
        while let exchange = waiting.popFirst() { exchange.finish(.unreachable("the gateway is stopping")) }
        for connection in Array(connections.values) { connection.close() }
        if open == 0 { promise.succeed() }
        return promise.futureResult
    }

    /// Removes a connection from the pool, if it is in the pool. The caller closes the connection.
    func removeFromPool(_ connection: UpstreamConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connection.isRetired = true
        connection.destination.idle.removeAll { $0 === connection }
        decrementOpenCount(connection.destination)
    }

    /// Decrements the number of open connections after a connection was closed or could not be established.
    func decrementOpenCount(_ destination: UpstreamDestination) {
        open -= 1
        destination.open -= 1
        if open == 0 { emptied?.succeed() }
    }
}

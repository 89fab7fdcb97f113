internal import Gateway
internal import NIOCore

/// The connections to the backend of one event loop. Loop-bound: calls of the loop find theirs without a lock or a hop.
///
/// Of several addresses a call goes to the one with the least to do, among those that are worth it. Where a connection cannot
/// be made, the next address is tried; once a byte of a request was written it stays where it is.
final class UpstreamConnectionPool {
    let eventLoop: any EventLoop
    let configuration: UpstreamConfiguration
    let destinations: [UpstreamDestination]
    /// How many connections there may be.
    let maximum: Int
    let connects: ConnectCounters
    let idleTimer: DeadlineTimer
    let waitTimer: DeadlineTimer
    var checks = CircularBuffer<Scheduled<Void>>()
    /// Those that are there.
    var connections: [ObjectIdentifier: UpstreamConnection] = [:]
    /// Requests that wait for one.
    var waiting = CircularBuffer<PendingExchange>()
    /// No deadline of those that wait is earlier.
    var earliestDeadline = NIODeadline.distantFuture
    /// Connections that are there or are being made.
    var open = 0
    /// Where the search for a destination begins, so that those with equally much to do take turns.
    var turn = 0
    var isShutDown = false
    /// Kept once the pool ends; succeeds when nothing is left.
    var emptied: EventLoopPromise<Void>?

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
        self.waitTimer = DeadlineTimer(on: eventLoop)
        idleTimer.start { self.closeIdle() }
        waitTimer.start { self.giveUpLate() }
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
            wait(exchange)
        } else {
            exchange.finish(.overloaded)
        }
    }

    /// How it stands.
    var reading: UpstreamStatistics {
        UpstreamStatistics(
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
}

@available(*, unavailable)
extension UpstreamConnectionPool: Sendable {}

internal import GatewayCore
internal import Logging
internal import NIOCore

/// The connections to the process for logins or for account queries, with their queue. Bound to one event loop.
///
/// A connection carries one request at a time. At a fault the connection is closed, and its query completes as
/// `unavailable`. After a connection that could not be opened, none is attempted before the back-off delay has passed.
final class ProcessConnectionPool {
    /// The limits of the pool.
    struct Bounds: Sendable {
        var connections: Int
        var queue: Int
        var timeout: TimeAmount
    }

    /// A pending query. A class, because its timer, the queue and its connection refer to the same instance.
    private final class Query {
        let request: ProcessRequest
        let promise: EventLoopPromise<ProcessReply>
        let deadline: NIODeadline
        var timer: Scheduled<Void>?

        init(_ request: ProcessRequest, _ promise: EventLoopPromise<ProcessReply>, deadline: NIODeadline) {
            self.request = request
            self.promise = promise
            self.deadline = deadline
        }
    }

    private let bounds: Bounds
    /// Whether the queries are about the status of accounts, which only version 2 of the protocol has.
    private let requiresStatus: Bool
    private let loop: any EventLoop
    private let logger: Logger
    private let connect: (ProcessConnectionHandler) -> EventLoopFuture<Void>
    private var backOff: Backoff
    private var pause: Scheduled<Void>?
    private var isClosed = false

    private var waiting: [Query] = []
    private var opening: [ProcessConnectionHandler] = []
    private var free: [ProcessConnectionHandler] = []
    private var busy: [(connection: ProcessConnectionHandler, query: Query)] = []

    init(
        _ bounds: Bounds, backOff: Backoff, on loop: any EventLoop, logger: Logger, requiresStatus: Bool = false,
        connect: @escaping (ProcessConnectionHandler) -> EventLoopFuture<Void>
    ) {
        self.bounds = bounds
        self.backOff = backOff
        self.loop = loop
        self.logger = logger
        self.requiresStatus = requiresStatus
        self.connect = connect
    }

    /// The number of waiting queries that are served before one that has room of its own.
    private static let maximumTurns = 3

    /// Queries the process. The future never fails and completes at the deadline at the latest.
    ///
    /// - Parameter hasRoom: Whether the query waits beside a full queue, and behind at most three others. For callers that
    ///   make few queries at once.
    func query(_ request: ProcessRequest, hasRoom: Bool = false) -> EventLoopFuture<ProcessReply> {
        guard !isClosed else { return loop.makeSucceededFuture(.unavailable(.unreachable)) }
        guard hasRoom || waiting.count < bounds.queue else { return loop.makeSucceededFuture(.unavailable(.busy)) }
        let query = Query(request, loop.makePromise(), deadline: loop.now + bounds.timeout)
        query.timer = loop.assumeIsolated().scheduleTask(in: bounds.timeout) { [weak self] in self?.expire(query) }
        waiting.insert(query, at: hasRoom ? min(waiting.count, Self.maximumTurns) : waiting.count)
        advance()
        return query.promise.futureResult
    }

    /// Closes all connections and completes all waiting queries as `unavailable`.
    func close() {
        isClosed = true
        pause?.cancel()
        pause = nil
        for connection in opening + free + busy.map(\.connection) { connection.close(nil) }
        failAllWaiting()
    }

    private func advance() {
        while !waiting.isEmpty, let connection = free.popLast() { assign(waiting.removeFirst(), to: connection) }
        while !isClosed, pause == nil, opening.count < waiting.count,
            opening.count + free.count + busy.count < bounds.connections
        {
            open()
        }
    }

    private func assign(_ query: Query, to connection: ProcessConnectionHandler) {
        if let hello = connection.hello, let reply = query.request.replyWithoutSending(to: hello) {
            free.append(connection)
            return finish(query, reply)
        }
        busy.append((connection, query))
        connection.send(query.request, timeLeft: query.deadline - loop.now)
    }

    private func open() {
        let connection = ProcessConnectionHandler { [weak self] connection, event in self?.handle(event, of: connection)
        }
        opening.append(connection)
        // The hello has the same timeout as a reply, because no query waits longer.
        loop.assumeIsolated().scheduleTask(in: bounds.timeout) { [weak self, weak connection] in
            guard let self, let connection, self.opening.contains(where: { $0 === connection }) else { return }
            connection.close(.helloTimeout)
        }
        connect(connection).assumeIsolated().whenFailure { connection.close(.unreachable("\($0)")) }
    }

    private func handle(_ event: ProcessConnectionHandler.Event, of connection: ProcessConnectionHandler) {
        switch event {
        case .hello(let hello):
            opening.removeAll { $0 === connection }
            free.append(connection)
            logger.debug(
                "Process connected", metadata: ["process": "\(hello.name)", "version": "\(hello.version)"])
            if requiresStatus, !hello.reportsStatus {
                logger.error(
                    "Process does not report the status of accounts, so their sessions are not renewed",
                    metadata: ["process": "\(hello.name)", "version": "\(hello.version)"])
            }
        case .reply(let reply):
            guard let index = busy.firstIndex(where: { $0.connection === connection }) else { return }
            let query = busy.remove(at: index).query
            free.append(connection)
            backOff.reset()
            finish(query, reply)
        case .closed(let fault):
            remove(connection, fault)
        }
        advance()
    }

    private func remove(_ connection: ProcessConnectionHandler, _ fault: ProtocolError?) {
        let wasOpening = opening.contains { $0 === connection }
        opening.removeAll { $0 === connection }
        free.removeAll { $0 === connection }
        let queries = busy.filter { $0.connection === connection }.map(\.query)
        busy.removeAll { $0.connection === connection }
        for query in queries { finish(query, .unavailable(fault == .replyTimeout ? .timedOut : .failed)) }
        guard let fault, !isClosed else { return }
        logger.warning("Connection to the process closed after a fault", metadata: ["fault": "\(fault)"])
        // A fault in a login does not suggest that a new connection would fail, so it delays no other login.
        guard wasOpening else { return }
        pauseConnecting()
        if opening.isEmpty, free.isEmpty, busy.isEmpty { failAllWaiting() }
    }

    private func pauseConnecting() {
        guard pause == nil else { return }
        pause = loop.assumeIsolated().scheduleTask(in: backOff.next()) { [weak self] in
            self?.pause = nil
            self?.advance()
        }
    }

    private func expire(_ query: Query) {
        if let index = waiting.firstIndex(where: { $0 === query }) {
            waiting.remove(at: index)
            finish(query, .unavailable(.unreachable))
        } else if let entry = busy.first(where: { $0.query === query }) {
            entry.connection.close(.replyTimeout)
        }
    }

    private func finish(_ query: Query, _ reply: ProcessReply) {
        query.timer?.cancel()
        query.promise.succeed(reply)
    }

    private func failAllWaiting() {
        let queries = waiting
        waiting = []
        for query in queries { finish(query, .unavailable(.unreachable)) }
    }
}

/// The delay before the next connection attempt. It doubles with each failure, up to a bound.
struct Backoff: Sendable {
    /// The delay after the first failure.
    let initialDelay: TimeAmount
    /// The maximum delay.
    let maximumDelay: TimeAmount
    private var upcoming: TimeAmount

    init(initialDelay: TimeAmount = .milliseconds(100), maximumDelay: TimeAmount = .seconds(2)) {
        self.initialDelay = initialDelay
        self.maximumDelay = maximumDelay
        upcoming = initialDelay
    }

    /// Records a failure and returns the delay before the next attempt.
    mutating func next() -> TimeAmount {
        defer { upcoming = min(.nanoseconds(upcoming.nanoseconds * 2), maximumDelay) }
        return upcoming
    }

    /// Records a success.
    mutating func reset() { upcoming = initialDelay }
}

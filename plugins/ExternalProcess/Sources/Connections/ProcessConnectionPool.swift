internal import GatewayCore
internal import Logging
internal import NIOCore

/// The connections to the process and the queue of logins. Bound to one event loop.
///
/// A connection carries one request at a time. At a fault the connection is closed, its login completes as
/// `unavailable`, and no new connection is attempted before the back-off delay has passed.
final class ProcessConnectionPool {
    /// The limits of the pool.
    struct Bounds: Sendable {
        var connections: Int
        var queue: Int
        var timeout: TimeAmount
    }

    /// A pending login. A class, because its timer, the queue and its connection refer to the same instance.
    private final class Login {
        let request: Request
        let promise: EventLoopPromise<AuthenticationReply>
        let deadline: NIODeadline
        var timer: Scheduled<Void>?

        init(_ request: Request, _ promise: EventLoopPromise<AuthenticationReply>, deadline: NIODeadline) {
            self.request = request
            self.promise = promise
            self.deadline = deadline
        }
    }

    private let bounds: Bounds
    private let loop: any EventLoop
    private let logger: Logger
    private let connect: (ProcessConnectionHandler) -> EventLoopFuture<Void>
    private var backOff: Backoff
    private var pause: Scheduled<Void>?
    private var isClosed = false

    private var waiting: [Login] = []
    private var opening: [ProcessConnectionHandler] = []
    private var free: [ProcessConnectionHandler] = []
    private var busy: [(connection: ProcessConnectionHandler, login: Login)] = []

    init(
        _ bounds: Bounds, backOff: Backoff, on loop: any EventLoop, logger: Logger,
        connect: @escaping (ProcessConnectionHandler) -> EventLoopFuture<Void>
    ) {
        self.bounds = bounds
        self.backOff = backOff
        self.loop = loop
        self.logger = logger
        self.connect = connect
    }

    /// Queries the process. The future never fails and completes at the deadline at the latest.
    func query(_ request: Request) -> EventLoopFuture<AuthenticationReply> {
        guard !isClosed else { return loop.makeSucceededFuture(.unavailable(.failed)) }
        guard waiting.count < bounds.queue else { return loop.makeSucceededFuture(.unavailable(.busy)) }
        let login = Login(request, loop.makePromise(), deadline: loop.now + bounds.timeout)
        login.timer = loop.assumeIsolated().scheduleTask(in: bounds.timeout) { [weak self] in self?.expire(login) }
        waiting.append(login)
        advance()
        return login.promise.futureResult
    }

    /// Closes all connections and completes all waiting logins as `unavailable`.
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

    private func assign(_ login: Login, to connection: ProcessConnectionHandler) {
        guard let hello = connection.hello, hello.takes.contains(login.request.kind) else {
            free.append(connection)
            return finish(login, .notMine)
        }
        busy.append((connection, login))
        connection.send(login.request, timeLeft: login.deadline - loop.now)
    }

    private func open() {
        let connection = ProcessConnectionHandler { [weak self] connection, event in self?.handle(event, of: connection)
        }
        opening.append(connection)
        // The hello has the same timeout as a verdict, because no login waits longer.
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
            logger.debug("Process connected", metadata: ["process": "\(hello.name)"])
        case .reply(let verdict):
            guard let index = busy.firstIndex(where: { $0.connection === connection }) else { return }
            let login = busy.remove(at: index).login
            free.append(connection)
            backOff.reset()
            finish(login, verdict)
        case .closed(let fault):
            remove(connection, fault)
        }
        advance()
    }

    private func remove(_ connection: ProcessConnectionHandler, _ fault: ProtocolError?) {
        opening.removeAll { $0 === connection }
        free.removeAll { $0 === connection }
        let logins = busy.filter { $0.connection === connection }.map(\.login)
        busy.removeAll { $0.connection === connection }
        for login in logins { finish(login, .unavailable(fault == .verdictTimeout ? .timedOut : .failed)) }
        guard let fault, !isClosed else { return }
        logger.warning("Connection to the process closed after a fault", metadata: ["fault": "\(fault)"])
        // A late response does not suggest that a new connection would fail, so it causes no delay.
        if fault != .verdictTimeout { pauseConnecting() }
        if opening.isEmpty, free.isEmpty, busy.isEmpty, fault != .verdictTimeout { failAllWaiting() }
    }

    private func pauseConnecting() {
        guard pause == nil else { return }
        pause = loop.assumeIsolated().scheduleTask(in: backOff.next()) { [weak self] in
            self?.pause = nil
            self?.advance()
        }
    }

    private func expire(_ login: Login) {
        if let index = waiting.firstIndex(where: { $0 === login }) {
            waiting.remove(at: index)
            finish(login, .unavailable(.timedOut))
        } else if let entry = busy.first(where: { $0.login === login }) {
            entry.connection.close(.verdictTimeout)
        }
    }

    private func finish(_ login: Login, _ verdict: AuthenticationReply) {
        login.timer?.cancel()
        login.promise.succeed(verdict)
    }

    private func failAllWaiting() {
        let logins = waiting
        waiting = []
        for login in logins { finish(login, .unavailable(.failed)) }
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

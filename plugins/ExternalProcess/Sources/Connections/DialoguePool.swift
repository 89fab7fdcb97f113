internal import GatewayCore
internal import Logging
internal import NIOCore

/// The connections to the process and the logins that wait for one. Bound to one event loop.
///
/// A connection carries one request at a time. One that faults is closed, the login on it is answered `unavailable`,
/// and the next is not tried before the back-off has passed.
final class DialoguePool {
    struct Bounds: Sendable {
        var connections: Int
        var queue: Int
        var timeout: TimeAmount
    }

    /// A login on its way. By reference: its timer, its place in the queue and its connection mean the same one.
    private final class Login {
        let request: Request
        let promise: EventLoopPromise<Verdict>
        let deadline: NIODeadline
        var timer: Scheduled<Void>?

        init(_ request: Request, _ promise: EventLoopPromise<Verdict>, deadline: NIODeadline) {
            self.request = request
            self.promise = promise
            self.deadline = deadline
        }
    }

    private let bounds: Bounds
    private let loop: any EventLoop
    private let logger: Logger
    private let connect: (DialogueHandler) -> EventLoopFuture<Void>
    private var backOff: BackOff
    private var pause: Scheduled<Void>?
    private var isClosed = false

    private var waiting: [Login] = []
    private var opening: [DialogueHandler] = []
    private var free: [DialogueHandler] = []
    private var busy: [(dialogue: DialogueHandler, login: Login)] = []

    init(
        _ bounds: Bounds, backOff: BackOff, on loop: any EventLoop, logger: Logger,
        connect: @escaping (DialogueHandler) -> EventLoopFuture<Void>
    ) {
        self.bounds = bounds
        self.backOff = backOff
        self.loop = loop
        self.logger = logger
        self.connect = connect
    }

    /// Asks the process; the future never fails, and is complete at the deadline at the latest.
    func ask(_ request: Request) -> EventLoopFuture<Verdict> {
        guard !isClosed else { return loop.makeSucceededFuture(.unavailable(.failed)) }
        guard waiting.count < bounds.queue else { return loop.makeSucceededFuture(.unavailable(.busy)) }
        let login = Login(request, loop.makePromise(), deadline: loop.now + bounds.timeout)
        login.timer = loop.assumeIsolated().scheduleTask(in: bounds.timeout) { [weak self] in self?.expire(login) }
        waiting.append(login)
        advance()
        return login.promise.futureResult
    }

    /// Closes all connections and answers all who wait.
    func close() {
        isClosed = true
        pause?.cancel()
        pause = nil
        for dialogue in opening + free + busy.map(\.dialogue) { dialogue.end(nil) }
        failAllWaiting()
    }

    private func advance() {
        while !waiting.isEmpty, let dialogue = free.popLast() { give(waiting.removeFirst(), to: dialogue) }
        while !isClosed, pause == nil, opening.count < waiting.count,
            opening.count + free.count + busy.count < bounds.connections
        {
            open()
        }
    }

    private func give(_ login: Login, to dialogue: DialogueHandler) {
        guard let hello = dialogue.hello, hello.takes.contains(login.request.kind) else {
            free.append(dialogue)
            return finish(login, .notMine)
        }
        busy.append((dialogue, login))
        dialogue.ask(login.request, timeLeft: login.deadline - loop.now)
    }

    private func open() {
        let dialogue = DialogueHandler { [weak self] dialogue, event in self?.handle(event, of: dialogue) }
        opening.append(dialogue)
        // The same time for the hello as for a verdict: who waits for it would not wait longer.
        loop.assumeIsolated().scheduleTask(in: bounds.timeout) { [weak self, weak dialogue] in
            guard let self, let dialogue, self.opening.contains(where: { $0 === dialogue }) else { return }
            dialogue.end(.silent)
        }
        connect(dialogue).assumeIsolated().whenFailure { dialogue.end(.unreachable("\($0)")) }
    }

    private func handle(_ event: DialogueHandler.Event, of dialogue: DialogueHandler) {
        switch event {
        case .greeted(let hello):
            opening.removeAll { $0 === dialogue }
            free.append(dialogue)
            logger.debug("the process is there", metadata: ["process": "\(hello.name)"])
        case .judged(let verdict):
            guard let index = busy.firstIndex(where: { $0.dialogue === dialogue }) else { return }
            let login = busy.remove(at: index).login
            free.append(dialogue)
            backOff.reset()
            finish(login, verdict)
        case .ended(let fault):
            remove(dialogue, fault)
        }
        advance()
    }

    private func remove(_ dialogue: DialogueHandler, _ fault: ProtocolFault?) {
        opening.removeAll { $0 === dialogue }
        free.removeAll { $0 === dialogue }
        let logins = busy.filter { $0.dialogue === dialogue }.map(\.login)
        busy.removeAll { $0.dialogue === dialogue }
        for login in logins { finish(login, .unavailable(fault == .late ? .timedOut : .failed)) }
        guard let fault, !isClosed else { return }
        logger.warning("a connection to the process was given up", metadata: ["fault": "\(fault)"])
        // A slow answer says nothing of whether another connection would be good.
        if fault != .late { rest() }
        if opening.isEmpty, free.isEmpty, busy.isEmpty, fault != .late { failAllWaiting() }
    }

    private func rest() {
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
            entry.dialogue.end(.late)
        }
    }

    private func finish(_ login: Login, _ verdict: Verdict) {
        login.timer?.cancel()
        login.promise.succeed(verdict)
    }

    private func failAllWaiting() {
        let logins = waiting
        waiting = []
        for login in logins { finish(login, .unavailable(.failed)) }
    }
}

import BenchmarkSupport
import NIOCore

/// An open-loop sender: makes each call when it is due, independently of earlier calls, and measures latencies from the
/// due time.
///
/// A call needs a client that does not wait for a response. If there is none, the call is not sent and counts as not
/// carried. The sender selects the client that was idle longest, so that all clients call at every rate, and the cost
/// of many clients is not mistaken for the cost of the overload. Loop-bound.
final class OpenLoopSender {
    /// A part of the plan: a rate in calls per second, and its duration.
    struct Part {
        let rate: Double
        let seconds: Double
    }

    /// The time that a client waits for its response.
    static let maximumWait: Int64 = 1_000_000_000
    /// The latency below which a response counts as normal.
    static let prompt: Int64 = 50_000_000

    private let loop: any EventLoop
    private let port: Int
    private let request: ByteBuffer
    private var free = CircularBuffer<ClientConnection>()
    private var inFlight = 0

    private var start = NIODeadline.now()
    private var tallies: [Tally] = []
    private var ends: [Int64] = []
    private var intervals: [Double] = []
    private var part = 0
    private var due = 0.0
    private var done: EventLoopPromise<[Tally]>?

    init(_ connections: [ClientConnection], port: Int, request: ByteBuffer, on loop: any EventLoop) {
        self.loop = loop
        self.port = port
        self.request = request
        free.append(contentsOf: connections)
        for connection in connections { watch(connection) }
    }

    /// Runs a plan without a pause between its parts, and waits for the responses.
    func run(_ parts: [Part]) -> EventLoopFuture<[Tally]> {
        let done = loop.makePromise(of: [Tally].self)
        self.done = done
        tallies = parts.map { _ in Tally() }
        intervals = parts.map { 1e9 / $0.rate }
        var end = 0.0
        ends = parts.map { part in
            end += part.seconds * 1e9
            return Int64(end)
        }
        part = 0
        due = 0
        start = .now()
        tick()
        return done.futureResult
    }

    private func tick() {
        guard let done else { return }
        let now = elapsed
        while part < ends.count, Int64(due) <= now {
            if Int64(due) >= ends[part] {
                part += 1
                continue
            }
            tallies[part].offered += 1
            tallies[part].lateness.add(now - Int64(due))
            send(due: Int64(due))
            due += intervals[part]
        }
        if part == ends.count, inFlight == 0 {
            self.done = nil
            return done.succeed(tallies)
        }
        // Calls without a response by then receive none.
        if let end = ends.last, now > end + 10 * Self.maximumWait {
            self.done = nil
            tallies[ends.count - 1].failed += inFlight
            return done.succeed(tallies)
        }
        loop.assumeIsolated().scheduleTask(in: .microseconds(500)) { self.tick() }
    }

    private var elapsed: Int64 { (NIODeadline.now() - start).nanoseconds }

    private func send(due: Int64) {
        while let connection = free.popFirst() {
            if connection.isUsable { return send(due: due, on: connection) }
            replace()
        }
        tallies[part].leaveOut(due: due)
    }

    private func send(due: Int64, on connection: ClientConnection) {
        inFlight += 1
        connection.note = due
        connection.call(request)
    }

    private func watch(_ connection: ClientConnection) {
        connection.onAnswer = { connection, status in self.answered(connection, status) }
    }

    private func answered(_ connection: ClientConnection, _ status: Int) {
        inFlight -= 1
        let due = connection.note
        if done != nil {
            tallies[place(of: due)].add(
                status: status, due: due, latency: elapsed - due, maximumWait: Self.maximumWait, prompt: Self.prompt)
        }
        guard status != 0, connection.isUsable else { return replace() }
        free.append(connection)
    }

    private func replace() {
        ClientConnection.open(port: port, on: loop).assumeIsolated().whenSuccess { connection in
            self.watch(connection.value)
            self.free.append(connection.value)
        }
    }

    /// Returns the part of the plan that contains a due time.
    private func place(of due: Int64) -> Int { ends.firstIndex { due < $0 } ?? ends.count - 1 }
}

@available(*, unavailable)
extension OpenLoopSender: Sendable {}

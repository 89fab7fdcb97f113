internal import GatewayCore
internal import NIOCore

/// A connection that processes its input in turns.
protocol TurnTaker: AnyObject {
    /// Processes at most `units` waiting frames or requests. Returns the number of processed ones.
    func takeTurn(units: Int) -> Int
}

/// A scheduler that shares the time of an event loop fairly among connections with much input. Loop-bound.
///
/// A few KiB can contain hundreds of requests, and one tick of the loop reads from every readable socket. Without a
/// bound, all other calls of the loop would wait until these requests were processed. Three kinds of input therefore
/// take turns:
///
/// - the frames of HTTP/2 connections, `unitsPerTurn` in each turn;
/// - the pipelined requests of HTTP/1.1 connections, one in each turn. A request that arrives after the previous
///   response does not wait.
/// - the ClientHello of TLS connections, because the reply needs a signature.
///
/// All of them together use a bounded number of units and a bounded time in each tick. The remaining bytes wait in
/// their connection, whose socket is not read in the meantime. The networks of the peers take turns, and so do the
/// connections of each network (`TurnQueue`).
final class TurnScheduler {
    /// The maximum number of units of one connection in one turn.
    static let unitsPerTurn = 8
    /// The maximum number of units of all connections in one tick.
    static let unitsPerTick = 128
    /// The time after which no further turn begins in a tick.
    static let timePerTick = TimeAmount.milliseconds(2)
    /// The soft limit, for each loop, on bytes that wait in HTTP/2 connections. While it is exceeded, an owner may add
    /// bytes only up to an equal share of it.
    static let waitingBytesLimit = 8 << 20
    /// The time for other work of the loop after a tick that has used up its units or its time.
    static let pause = TimeAmount.microseconds(100)

    private let eventLoop: any EventLoop
    private let tick: EventLoopTick?
    /// The tick that `unitsLeft` and `timeLeft` belong to.
    private var currentTick: UInt64?
    private var unitsLeft = TurnScheduler.unitsPerTick
    private var timeLeft = TurnScheduler.timePerTick
    private var waiting = TurnQueue<any TurnTaker>()
    private var isScheduled = false
    private var bytesByOwner: [TurnOwner: Int] = [:]
    /// The number of bytes that wait in HTTP/2 connections.
    private(set) var waitingBytes = 0

    /// Creates a scheduler without waiting connections.
    ///
    /// - Parameter tick: The tick counter of the loop. Without it, each arrival counts as a tick.
    init(on eventLoop: any EventLoop, tick: EventLoopTick?) {
        self.eventLoop = eventLoop
        self.tick = tick
    }

    /// Returns the number of units that a connection may process after it has received bytes; 0 makes it wait.
    func unitsForArrival() -> Int {
        guard waiting.isEmpty else { return 0 }
        beginTick(isNew: tick == nil)
        return min(Self.unitsPerTurn, unitsLeft)
    }

    /// Subtracts units that were processed on arrival, and the time that they took, from what is left in the tick.
    func spend(units: Int, time: TimeAmount) {
        timeLeft = timeLeft - time
        unitsLeft = timeLeft > .zero ? max(0, unitsLeft - units) : 0
    }

    /// Changes the number of bytes that wait in the HTTP/2 connections of an owner.
    ///
    /// - Returns: False if so many bytes wait that the owner exceeds its share. The caller must then close the
    ///   connection.
    func changeWaitingBytes(by change: Int, of owner: TurnOwner) -> Bool {
        if change == 0 { return true }
        waitingBytes += change
        let bytes = bytesByOwner[owner, default: 0] + change
        bytesByOwner[owner] = bytes > 0 ? bytes : nil
        return change < 0 || waitingBytes <= Self.waitingBytesLimit
            || bytes <= Self.waitingBytesLimit / bytesByOwner.count
    }

    /// Appends the connection to the queue. It must not already be in the queue.
    func enqueue(_ connection: any TurnTaker, of owner: TurnOwner) {
        waiting.append(connection, of: owner)
        beginTick(isNew: false)
        schedule()
    }

    private func beginTick(isNew: Bool) {
        guard isNew || currentTick != tick?.completed else { return }
        currentTick = tick?.completed
        (unitsLeft, timeLeft) = (Self.unitsPerTick, Self.timePerTick)
    }

    private func schedule() {
        if isScheduled || waiting.isEmpty { return }
        isScheduled = true
        // Tasks of the loop run after its sockets were read. Tasks that they submit run before the next read.
        if unitsLeft > 0 {
            eventLoop.assumeIsolated().execute { self.serveWaiting(afterPause: false) }
        } else {
            eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.serveWaiting(afterPause: true) }
        }
    }

    private func serveWaiting(afterPause: Bool) {
        beginTick(isNew: afterPause && tick == nil)
        while unitsLeft > 0, let connection = waiting.popFirst() {
            let began = eventLoop.now
            let units = connection.takeTurn(units: min(Self.unitsPerTurn, unitsLeft))
            spend(units: units, time: eventLoop.now - began)
        }
        isScheduled = false
        schedule()
    }
}

@available(*, unavailable)
extension TurnScheduler: Sendable {}

/// The network or the connection that a turn belongs to.
enum TurnOwner: Hashable {
    /// All connections of one network, see `Peer.network`. A client gains no turns by opening more connections.
    case network(Peer.Address)
    /// One connection of a trusted proxy or a Unix socket, which carries the calls of many clients.
    case connection(ObjectIdentifier)
}

/// A round-robin queue: owners take turns, and the elements of one owner leave in order of arrival. Between two
/// elements of one owner, at most one element of each other owner leaves. Operations take constant time unless they say otherwise.
struct TurnQueue<Element> {
    /// The owners with elements, in the order of their turns.
    private var owners = CircularBuffer<TurnOwner>()
    private var elements: [TurnOwner: CircularBuffer<Element>] = [:]

    /// The number of elements.
    private(set) var count = 0

    /// Whether the queue contains no element.
    var isEmpty: Bool { owners.isEmpty }

    /// The number of owners with elements.
    var ownerCount: Int { owners.count }

    /// The first element of the owner whose turn it is.
    var first: Element? { owners.first.flatMap { elements[$0]?.first } }

    /// The first element of each owner.
    var firstOfEach: some Sequence<Element> { elements.values.lazy.compactMap(\.first) }

    /// Returns the first element of an owner.
    func first(of owner: TurnOwner) -> Element? { elements[owner]?.first }

    /// Returns the number of an owner's elements.
    func count(of owner: TurnOwner) -> Int { elements[owner]?.count ?? 0 }

    /// Appends an element to those of its owner.
    mutating func append(_ element: Element, of owner: TurnOwner) {
        if elements[owner] == nil { owners.append(owner) }
        elements[owner, default: CircularBuffer(initialCapacity: 1)].append(element)
        count += 1
    }

    /// Removes and returns the first element of the owner whose turn it is.
    mutating func popFirst() -> Element? {
        guard let owner = owners.popFirst(), let element = elements[owner]?.popFirst() else { return nil }
        if elements[owner]?.isEmpty == false { owners.append(owner) } else { elements[owner] = nil }
        count -= 1
        return element
    }

    /// Removes and returns the elements of each owner before the first that does not match. Takes linear time.
    mutating func removeLeading(where matches: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for _ in 0..<owners.count {
            let owner = owners.removeFirst()
            while let first = elements[owner]?.first, matches(first) {
                elements[owner]?.removeFirst()
                removed.append(first)
            }
            if elements[owner]?.isEmpty == false { owners.append(owner) } else { elements[owner] = nil }
        }
        count -= removed.count
        return removed
    }
}

internal import NIOCore

/// A scheduler that shares the time of an event loop fairly among its HTTP/2 connections. Loop-bound.
///
/// A few KiB can contain a hundred requests, and one tick of the loop reads from every readable socket. Without a
/// bound, all other calls of the loop would wait until these requests were processed. A connection therefore processes
/// a few frames in each turn, and all connections together process a bounded number of frames in each tick. The
/// remaining bytes wait in their connection, whose socket is not read in the meantime. Connections take turns in the
/// order in which they began to wait.
final class FrameScheduler {
    /// The maximum number of frames of one connection in one turn.
    static let framesPerTurn = 16
    /// The maximum number of frames of all connections in one tick.
    static let framesPerTick = 128
    /// The maximum number of waiting bytes on one loop. Above it, connections process input at once.
    static let waitingBytesLimit = 8 << 20
    /// The time for other work of the loop after a tick that has used up its frames.
    static let pause = TimeAmount.microseconds(100)

    private let eventLoop: any EventLoop
    private let tick: EventLoopTick?
    /// The tick that `framesLeft` belongs to.
    private var currentTick: UInt64?
    private var framesLeft = FrameScheduler.framesPerTick
    private var waiting = CircularBuffer<FrameRateLimitHandler>()
    private var isScheduled = false
    /// The number of bytes that wait in the connections.
    private(set) var waitingBytes = 0

    /// Creates a scheduler without waiting connections.
    ///
    /// - Parameter tick: The tick counter of the loop. Without it, each read from a socket counts as a tick.
    init(on eventLoop: any EventLoop, tick: EventLoopTick?) {
        self.eventLoop = eventLoop
        self.tick = tick
    }

    /// Returns the number of frames that a connection may process after it has received bytes; 0 makes it wait.
    func framesForArrival() -> Int {
        if waitingBytes >= Self.waitingBytesLimit { return .max }
        guard waiting.isEmpty else { return 0 }
        beginTick(isNew: tick == nil)
        return min(Self.framesPerTurn, framesLeft)
    }

    /// Subtracts processed frames from those left in the tick.
    func handled(frames: Int) { framesLeft = max(0, framesLeft - frames) }

    /// Adds to the number of waiting bytes. A negative number subtracts.
    func addWaiting(bytes: Int) { waitingBytes += bytes }

    /// Appends the connection to the queue.
    func enqueue(_ connection: FrameRateLimitHandler) {
        waiting.append(connection)
        schedule()
    }

    private func beginTick(isNew: Bool) {
        guard isNew || currentTick != tick?.ended else { return }
        currentTick = tick?.ended
        framesLeft = Self.framesPerTick
    }

    private func schedule() {
        if isScheduled || waiting.isEmpty { return }
        isScheduled = true
        // Tasks of the loop run after its sockets were read. Tasks that they submit run before the next read.
        if framesLeft > 0 {
            eventLoop.assumeIsolated().execute { self.serveWaiting(afterPause: false) }
        } else {
            eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.serveWaiting(afterPause: true) }
        }
    }

    private func serveWaiting(afterPause: Bool) {
        beginTick(isNew: afterPause && tick == nil)
        while framesLeft > 0, let connection = waiting.popFirst() {
            connection.takeTurn(frames: min(Self.framesPerTurn, framesLeft))
        }
        isScheduled = false
        schedule()
    }
}

@available(*, unavailable)
extension FrameScheduler: Sendable {}

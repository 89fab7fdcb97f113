internal import NIOCore

/// Shares the time of an event loop among its HTTP/2 connections.
///
/// A few KiB can hold a hundred requests, and one tick of the loop reads from all sockets that have something. Without a bound, every
/// other call of the loop would wait until all of these requests were handled. So a connection handles a few frames a turn, and all
/// connections together handle a bounded number of frames a tick. What is left waits in its connection, whose socket is not read
/// meanwhile, and connections take turns in the order in which they began to wait.
///
/// Loop-bound.
final class FrameScheduler {
    /// Frames of one connection in one turn.
    static let framesPerTurn = 16
    /// Frames of all connections in one tick of the loop.
    static let framesPerTick = 128
    /// Bytes that may wait on one loop. Beyond that, connections handle at once what they receive.
    static let waitingBytesLimit = 8 << 20
    /// How long the loop attends to everything else, where more frames wait than belong to one tick.
    static let pause = TimeAmount.microseconds(100)

    private let eventLoop: any EventLoop
    private let tick: EventLoopTick?
    /// The tick that `framesLeft` belongs to.
    private var currentTick: UInt64?
    private var framesLeft = FrameScheduler.framesPerTick
    private var waiting = CircularBuffer<FrameRateLimitHandler>()
    private var isScheduled = false
    /// Bytes that wait in connections.
    private(set) var waitingBytes = 0

    /// - Parameter tick: Counts the ticks of the loop. If it is nil, each read of a socket counts as a tick.
    init(on eventLoop: any EventLoop, tick: EventLoopTick?) {
        self.eventLoop = eventLoop
        self.tick = tick
    }

    /// Returns how many frames a connection may handle that has just received something; none where it is to wait.
    func framesForArrival() -> Int {
        if waitingBytes >= Self.waitingBytesLimit { return .max }
        guard waiting.isEmpty else { return 0 }
        beginTick(isNew: tick == nil)
        return min(Self.framesPerTurn, framesLeft)
    }

    /// Counts frames that a connection has handled.
    func handled(frames: Int) { framesLeft = max(0, framesLeft - frames) }

    /// Counts bytes that begin to wait, or, below zero, wait no longer.
    func addWaiting(bytes: Int) { waitingBytes += bytes }

    /// Has the connection take its turn after those that wait already.
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
        // Tasks of the loop run after its sockets were read, and those that they submit run before the sockets are read again.
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

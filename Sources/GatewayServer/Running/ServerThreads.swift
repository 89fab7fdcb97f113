internal import GatewayConfiguration
internal import GatewayHTTP
internal import GatewaySupport
internal import NIOCore
internal import NIOPosix

/// The threads of a gateway: event loops, and the pools for work that blocks.
struct ServerThreads: Sendable {
    /// The event loops of all connections.
    let group: MultiThreadedEventLoopGroup
    /// Measures how late the event loops run their tasks.
    let lagMonitor: EventLoopLagMonitor
    /// The pool for password hashing and other work that blocks.
    let pool: BlockingPool
    /// The pool that reads files. Files have their own thread, so a changed users file does not wait for password
    /// hashing.
    let filePool: BlockingPool
    private let threads: NIOThreadPool
    private let fileThreads: NIOThreadPool

    /// Starts the threads.
    static func start(eventLoops: Int, clocks: Clocks) async throws -> ServerThreads {
        let threads = NIOThreadPool(numberOfThreads: max(2, System.coreCount))
        threads.start()
        let fileThreads = NIOThreadPool(numberOfThreads: 1)
        fileThreads.start()
        let group = try await EventLoopScheduler.makeGroup(threads: eventLoops)
        return ServerThreads(group: group, threads: threads, fileThreads: fileThreads, clocks: clocks)
    }

    private init(
        group: MultiThreadedEventLoopGroup, threads: NIOThreadPool, fileThreads: NIOThreadPool, clocks: Clocks
    ) {
        self.group = group
        self.threads = threads
        self.fileThreads = fileThreads
        lagMonitor = EventLoopLagMonitor(group: group, clocks: clocks)
        pool = BlockingPool(threads: threads, capacity: 256)
        filePool = BlockingPool(threads: fileThreads, capacity: 256)
    }

    /// Stops the threads. Nothing may use them any more.
    func stop() async {
        lagMonitor.stop()
        try? await group.shutdownGracefully()
        try? await threads.shutdownGracefully()
        try? await fileThreads.shutdownGracefully()
    }
}

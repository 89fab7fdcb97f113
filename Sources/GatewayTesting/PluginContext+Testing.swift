public import GatewayCore
internal import Logging
internal import NIOPosix

extension PluginContext {
    /// Lends a plug-in's context with threads of its own, which end with the closure.
    ///
    /// - Parameter capacity: how much work the blocking pool takes at once.
    public static func withTestContext<Result>(
        clock: ManualClock = ManualClock(), names: NameRules = NameRules(), isLastOfItsKind: Bool = true,
        threads: Int = 2, capacity: Int = 64, _ body: (PluginContext) async throws -> Result
    ) async throws -> Result {
        let pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
        let context = PluginContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            blockingPool: BlockingPool(threads: pool, capacity: capacity), clocks: clock.clocks, names: names,
            isLastOfItsKind: isLastOfItsKind)
        do {
            let result = try await body(context)
            try await pool.shutdownGracefully()
            return result
        } catch {
            try await pool.shutdownGracefully()
            throw error
        }
    }
}

extension WallTime {
    /// 2026-11-21T07:00:00Z: what it is in tests where no time passes.
    public static let test = WallTime(seconds: 1_795_244_400)
}

extension PluginContext {
    /// A plug-in's context in which no time passes, with the process's own threads.
    public static func test(
        now: WallTime = .test, names: NameRules = NameRules(), isLastOfItsKind: Bool = true, capacity: Int = 64
    ) -> PluginContext {
        PluginContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: capacity),
            clocks: Clocks(monotonic: { MonotonicInstant(nanoseconds: 0) }, wall: { now }), names: names,
            isLastOfItsKind: isLastOfItsKind)
    }
}

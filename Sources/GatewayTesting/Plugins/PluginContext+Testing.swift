public import GatewayCore
public import GatewaySupport
internal import Logging
internal import NIOPosix

extension WallTime {
    /// 2026-11-21T07:00:00Z, the time in tests with a stopped clock.
    public static let test = WallTime(seconds: 1_795_244_400)
}

extension PluginContext {
    /// Returns a context with stopped clocks and the process's shared threads.
    ///
    /// - Parameter capacity: the capacity of the blocking pool.
    public static func test(
        now: WallTime = .test, names: NameRules = NameRules(), isLastOfItsKind: Bool = true, capacity: Int = 64,
        isReload: Bool = false
    ) -> PluginContext {
        test(
            clocks: Clocks(monotonic: { MonotonicInstant(nanoseconds: 0) }, wall: { now }), names: names,
            isLastOfItsKind: isLastOfItsKind, capacity: capacity, isReload: isReload)
    }

    /// Returns a context with the given clocks; `.system` for tests in real time.
    public static func test(
        clocks: Clocks, names: NameRules = NameRules(), isLastOfItsKind: Bool = true, capacity: Int = 64,
        isReload: Bool = false
    ) -> PluginContext {
        PluginContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: capacity), clocks: clocks,
            names: names, isLastOfItsKind: isLastOfItsKind, isReload: isReload)
    }
}

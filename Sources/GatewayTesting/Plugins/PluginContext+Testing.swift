public import GatewayCore
internal import Logging
internal import NIOPosix

extension WallTime {
    /// 2026-11-21T07:00:00Z: what it is in tests where no time passes.
    public static let test = WallTime(seconds: 1_795_244_400)
}

extension PluginContext {
    /// A plug-in's context in which no time passes, with the process's own threads.
    ///
    /// - Parameter capacity: how much work the blocking pool takes at once.
    public static func test(
        now: WallTime = .test, names: NameRules = NameRules(), isLastOfItsKind: Bool = true, capacity: Int = 64
    ) -> PluginContext {
        test(
            clocks: Clocks(monotonic: { MonotonicInstant(nanoseconds: 0) }, wall: { now }), names: names,
            isLastOfItsKind: isLastOfItsKind, capacity: capacity)
    }

    /// A plug-in's context with clocks of the test's own: `.system` where others keep real time too.
    public static func test(
        clocks: Clocks, names: NameRules = NameRules(), isLastOfItsKind: Bool = true, capacity: Int = 64
    ) -> PluginContext {
        PluginContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: capacity), clocks: clocks,
            names: names, isLastOfItsKind: isLastOfItsKind)
    }
}

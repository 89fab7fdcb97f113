internal import Foundation
internal import Gateway
internal import GatewayConfiguration
internal import GatewaySupport
internal import Logging
internal import NIOCore
internal import NIOPosix

/// The context that all subsystems of one run share: the configuration at the start, and the resources of the process.
struct ServerContext: Sendable {
    /// The configuration at the start. A reload does not change it.
    let configuration: ServerConfiguration
    let threads: ServerThreads
    /// The shares of file descriptors.
    let shares: FileDescriptorLimit.Shares
    let clocks: Clocks
    let logger: Logger
    /// The counters of the request pipeline.
    let metrics: CallMetrics
    /// The counters of reloads.
    let reloads = Reloads()
    /// The sockets that the service manager passed.
    let inherited: InheritedSockets
    /// The notifications to the service manager.
    let notifier: ServiceNotifier
    /// The signals that stop the gateway.
    let signals: ShutdownSignals

    /// The counters of reloads, by result.
    struct Reloads: Sendable {
        let exchanged = Counter()
        let kept = Counter()
    }

    /// Creates the context, and reads what the service manager passed from the environment.
    ///
    /// - Throws: The reason why passed sockets cannot be used.
    init(
        _ configuration: ServerConfiguration, threads: ServerThreads, shares: FileDescriptorLimit.Shares,
        clocks: Clocks, logger: Logger
    ) throws {
        self.configuration = configuration
        self.threads = threads
        self.shares = shares
        self.clocks = clocks
        self.logger = logger
        let environment = ProcessInfo.processInfo.environment
        inherited = try InheritedSockets(environment: environment)
        notifier = ServiceNotifier(environment: environment, clocks: clocks)
        metrics = CallMetrics(clocks: clocks)
        signals = ShutdownSignals(logger: logger)
    }
    /// Reports to the service manager every 20 s that the start goes on, until the gateway is ready, the task is cancelled or a
    /// quarter of an hour is over: a start that hangs ends.
    func reportStart() -> RepeatedTask {
        let eventLoop = threads.group.next()
        let remaining = NIOLoopBoundBox.makeBoxSendingValue(45, eventLoop: eventLoop)
        return eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(20)) { [notifier] task in
            remaining.value -= 1
            if remaining.value < 0 || !notifier.starting() { task.cancel() }
        }
    }
}

internal import Gateway
internal import GatewayConfiguration
internal import GatewayHTTP
internal import GatewaySupport
internal import NIOCore

extension ListenersService {
    /// The time that aborted calls have to write their outcomes.
    private static let completionTime = TimeAmount.seconds(5)

    /// Stops serving: drains the listeners, then closes the connections to the backend.
    ///
    /// - Parameter isGraceful: Whether calls in flight may complete. A forced shutdown aborts them in any case.
    func stop(
        _ listeners: [Listener], _ running: RunningGateway, _ sweeping: Task<Void, Never>, isGraceful: Bool = true
    ) async {
        // A deletion in progress completes, or is aborted with the connections.
        sweeping.cancel()
        subsystems.stores.readiness.enter(.draining)
        context.notifier.stopping()
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { if isGraceful { await drain(listeners) } }
            tasks.addTask {
                for await _ in context.signals.forcedShutdown {
                    await closeAll(listeners)
                    break
                }
            }
            // Without a forced shutdown, the drain completes first.
            _ = await tasks.next()
            tasks.cancelAll()
        }
        await running.shutdownUpstream()
        await sweeping.value
        subsystems.calls.sends.cancelRestoration()
        // Aborted calls have an outcome now. The stores stay open until they are recorded.
        let end = NIODeadline.now() + Self.completionTime
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.completeCalls(deadline: end) } }
        }
    }

    /// Closes the listeners and all of their connections.
    func closeAll(_ listeners: [Listener]) async {
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.close() } }
        }
    }

    /// Keeps serving for the grace period, so load balancers notice and clients close their persistent connections.
    /// Then waits for the calls in flight, up to the drain limit.
    private func drain(_ listeners: [Listener]) async {
        for listener in listeners { await listener.announceShutdown() }
        let settings = subsystems.calls.drain
        try? await Task.sleep(for: settings.value.grace)
        let deadline = NIODeadline.now() + TimeAmount(settings.value.limit)
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.drain(deadline: deadline) } }
        }
    }
}

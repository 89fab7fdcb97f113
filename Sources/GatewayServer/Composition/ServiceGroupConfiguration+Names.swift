internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

extension ServiceGroupConfiguration {
    /// Creates a configuration in which each service is named by its type. By default its name is everything that it
    /// holds, printed by reflection: with many keyed sends or rules that takes longer than the start itself.
    ///
    /// If a service fails, all others are cancelled, but for one that fails while calls are served and harms none of them: they
    /// complete.
    init(named services: [any Service], stoppedBy signals: [UnixSignal] = [], logger: Logger) {
        self.init(
            services: services.map { service in
                .init(
                    service: service,
                    failureTerminationBehavior: service is IdempotentSendRestoration
                        ? .gracefullyShutdownGroup : .cancelGroup,
                    serviceName: "\(type(of: service))")
            },
            gracefulShutdownSignals: signals, logger: logger)
    }
}

internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

extension ServiceGroupConfiguration {
    /// Creates a configuration in which each service is named by its type. By default its name is everything that it
    /// holds, printed by reflection: with many keyed sends or rules that takes longer than the start itself.
    init(named services: [any Service], stoppedBy signals: [UnixSignal] = [], logger: Logger) {
        self.init(
            services: services.map { .init(service: $0, serviceName: "\(type(of: $0))") },
            gracefulShutdownSignals: signals, logger: logger)
    }
}

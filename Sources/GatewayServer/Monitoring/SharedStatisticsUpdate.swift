internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import ServiceLifecycle

/// Counts the calls that all gateways have recorded in the shared store, every two seconds. Each gateway has this service,
/// and only one counts at a time.
struct SharedStatisticsUpdate: Service {
    private let counts: SharedCounts
    private let logger: Logger

    private static let period = Duration.seconds(2)
    /// The pause between two steps while many lines are not counted, which leaves the database time for calls.
    private static let pause = Duration.milliseconds(50)
    /// The number of steps after which the counts are maintained, also while many lines are not counted.
    private static let stepsAtOnce = 200
    /// The number of periods between two maintenances, and the number of those between two that examine all counts.
    private static let (maintenancePeriods, fullMaintenancePeriods) = (30, 60)

    init(_ counts: SharedCounts, logger: Logger) {
        self.counts = counts
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var counting = Outcomes(failure: "Calls cannot be counted in the database", logger: logger)
            var maintenance = Outcomes(failure: "Statistics in the database cannot be maintained", logger: logger)
            var (period, steps) = (0, 0)
            repeat {
                await counting.attempt { () async throws(LedgerUnavailable) in
                    while !Task.isCancelled, steps < Self.stepsAtOnce, try await counts.update() {
                        steps += 1
                        try? await Task.sleep(for: Self.pause)
                    }
                }
                if period.isMultiple(of: Self.maintenancePeriods) || steps >= Self.stepsAtOnce, !Task.isCancelled {
                    let checksAll = period.isMultiple(of: Self.maintenancePeriods * Self.fullMaintenancePeriods)
                    await maintenance.attempt { () async throws(LedgerUnavailable) in
                        try await counts.maintain(checksAll: checksAll)
                    }
                    steps = 0
                }
                period += 1
            } while (try? await Task.sleep(for: Self.period)) != nil
        }
    }
}

/// Logs when a repeated task begins to fail, and when it succeeds again.
private struct Outcomes {
    let failure: Logger.Message
    let logger: Logger
    private var failures = 0

    init(failure: Logger.Message, logger: Logger) {
        self.failure = failure
        self.logger = logger
    }

    /// The first failure is not logged: after a restart of the server the next attempt succeeds.
    mutating func attempt(_ task: () async throws(LedgerUnavailable) -> Void) async {
        do throws(LedgerUnavailable) {
            try await task()
            if failures > 1 { logger.notice("Statistics in the database are up to date again") }
            failures = 0
        } catch {
            failures += 1
            if failures == 2 { logger.error(failure, metadata: ["detail": "\(error.detail)"]) }
        }
    }
}

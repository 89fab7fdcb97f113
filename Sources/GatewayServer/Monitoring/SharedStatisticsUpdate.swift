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
    /// The number of periods between two removals of old counts, and the number of those between two that examine all counts.
    private static let (maintenancePeriods, fullMaintenancePeriods) = (30, 60)

    init(_ counts: SharedCounts, logger: Logger) {
        self.counts = counts
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var (period, isFailing) = (0, false)
            repeat {
                do throws(LedgerUnavailable) {
                    while try await counts.update(), !Task.isCancelled { try? await Task.sleep(for: Self.pause) }
                    if period.isMultiple(of: Self.maintenancePeriods) {
                        try await counts.maintain(
                            checksAll: period.isMultiple(of: Self.maintenancePeriods * Self.fullMaintenancePeriods))
                    }
                    isFailing = false
                } catch {
                    if !isFailing {
                        logger.error(
                            "Statistics in the database cannot be updated", metadata: ["detail": "\(error.detail)"])
                    }
                    isFailing = true
                }
                period += 1
            } while (try? await Task.sleep(for: Self.period)) != nil
        }
    }
}

/// Runs a service for the duration of a body, which starts when the service reports that it has started.
enum ServiceRunner {
    static func run<Started: Sendable, Result: Sendable>(
        _ service: @escaping @Sendable (@escaping @Sendable (Started) -> Void) async throws -> Void,
        whileRunning body: (Started) async throws -> Result
    ) async throws -> Result {
        let (starts, start) = AsyncThrowingStream<Started, any Error>.makeStream()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await service { start.yield($0) }
                    start.finish()
                } catch {
                    start.finish(throwing: error)
                    throw error
                }
            }
            defer { group.cancelAll() }
            for try await started in starts { return try await body(started) }
            throw NotStarted()
        }
    }

    struct NotStarted: Error {}
}

/// Runs the body. If the task is cancelled, interrupts the body only after the grace.
///
/// - Throws: What the body throws.
package func withGrace(
    _ grace: Duration, _ body: @escaping @Sendable () async throws(DeliveryFailure) -> Void
) async throws(DeliveryFailure) {
    let work = Task { () -> Result<Void, DeliveryFailure> in
        do throws(DeliveryFailure) { return .success(try await body()) } catch { return .failure(error) }
    }
    let result = await withTaskCancellationHandler {
        await work.value
    } onCancel: {
        Task {
            try? await Task.sleep(for: grace)
            work.cancel()
        }
    }
    try result.get()
}

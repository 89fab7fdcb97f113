internal import GatewayCore
internal import GatewayStore
internal import OutboundHTTP

/// Copies batches to the store that several gateways share, which also keeps the position.
struct StoreDestination: SinkDestination {
    let copy: JournalCopy
    let maximumRecords = 10_000
    /// Short: the gateway asks the store twice a second in any case, and operators wait for the lines.
    let longestRetryDelay = Duration.seconds(2)

    func position() async throws(DeliveryFailure) -> UInt64? {
        do throws(LedgerUnavailable) { return try await copy.position() } catch { throw DeliveryFailure(error.detail) }
    }

    func deliver(_ batch: SinkBatch) async throws(DeliveryFailure) {
        let discontinuity: String?
        do throws(LedgerUnavailable) {
            discontinuity = try await copy.add(batch.lines, readFrom: batch.start)
        } catch {
            throw DeliveryFailure(error.detail)
        }
        if let discontinuity { throw DeliveryFailure(discontinuity) }
    }

    /// Does nothing: the copy is closed with the stores.
    func close() async {}
}

internal import GatewayCore
internal import GatewaySupport

extension SessionRegister {
    /// Returns the time from which the user may see received notifications: not before the time given, nor before the present
    /// account of this name began.
    func historyStart(of user: UserName, since: WallTime?) async throws(HistoryUnavailable) -> WallTime {
        let start: WallTime?
        do throws(LedgerUnavailable) {
            start = try await accountStart(of: user)
        } catch {
            throw HistoryUnavailable("ledger: \(error.detail)")
        }
        return max(since ?? WallTime(microseconds: 0), start ?? WallTime(microseconds: 0))
    }
}

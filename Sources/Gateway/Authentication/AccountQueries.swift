internal import GatewayCore
internal import Synchronization

/// The queries of the status of accounts that are in progress: one for each user at a time.
///
/// Callers that want the same account wait for the query in progress and share its answer, and a query of another account
/// of the user waits for its turn. So the requests of one user never fill the queue of an authenticator.
final class AccountQueries: Sendable {
    private struct Query {
        let account: Account
        let promise: AsyncPromise<AccountStatus?>
    }

    private let running = Mutex<[UserName: Query]>([:])

    /// Returns the status that `query` finds out, or the answer of a query of the same account that is in progress.
    func status(of account: Account, _ query: () async -> AccountStatus?) async -> AccountStatus? {
        let own = Query(account: account, promise: AsyncPromise())
        while true {
            let earlier = running.withLock { running in
                if let earlier = running[account.user] { return earlier as Query? }
                running[account.user] = own
                return nil
            }
            guard let earlier else { break }
            let status = await earlier.promise.get()
            if earlier.account == account { return status }
        }
        let status = await query()
        running.withLock { $0[account.user] = nil }
        own.promise.fulfill(status)
        return status
    }
}

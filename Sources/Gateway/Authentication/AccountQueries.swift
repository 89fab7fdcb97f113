internal import GatewayCore
internal import Synchronization

/// The queries of the status of accounts that are in progress: one for each user and purpose at a time.
///
/// Callers that want the same account for the same purpose wait for the query in progress and share its answer, and a query
/// of another account of the user waits for its turn. So the requests of one user never fill the queue of an authenticator.
final class AccountQueries: Sendable {
    private struct Query {
        let account: Account
        let promise: AsyncPromise<AccountStatus?>
    }

    private struct Key: Hashable {
        let user: UserName
        let purpose: AccountQueryPurpose
    }

    private let running = Mutex<[Key: Query]>([:])

    /// Returns the status that `query` finds out, or the answer of an equal query that is in progress.
    func status(
        of account: Account, for purpose: AccountQueryPurpose, _ query: () async -> AccountStatus?
    ) async -> AccountStatus? {
        let key = Key(user: account.user, purpose: purpose)
        let own = Query(account: account, promise: AsyncPromise())
        while true {
            let earlier = running.withLock { running in
                if let earlier = running[key] { return earlier as Query? }
                running[key] = own
                return nil
            }
            guard let earlier else { break }
            let status = await earlier.promise.get()
            if earlier.account == account { return status }
        }
        let status = await query()
        running.withLock { $0[key] = nil }
        own.promise.fulfill(status)
        return status
    }
}

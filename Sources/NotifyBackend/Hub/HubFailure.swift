/// Why the hub did not do what it was asked to. The backends tell their clients little of it.
enum HubFailure: Error, Equatable {
    /// A malformed id, tag, filter or expression, or too many tags: the hub's 400.
    case badRequest
    /// The id is not registered: the hub's 404.
    case notFound
    /// The registration was there and is lost: the hub's 410.
    case gone
    /// The hub is throttling or restarting; the same call may work later.
    case busy
    /// Any other failure for good.
    case failed
}

/// The reason why a hub operation failed. Backends pass little of it to their clients.
enum HubFailure: Error, Equatable {
    /// A malformed id, tag, filter or expression, or too many tags: the hub's 400.
    case badRequest
    /// The id is not registered: the hub's 404.
    case notFound
    /// The registration existed and has expired: the hub's 410.
    case gone
    /// The hub is throttling or restarting; the same call may work later.
    case busy
    /// Any other permanent failure.
    case failed
}

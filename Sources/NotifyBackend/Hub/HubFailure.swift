/// The reason why a hub operation failed. Backends report little of it to their clients.
enum HubFailure: Error, Equatable {
    /// A malformed id, tag, filter or expression, or too many tags: the hub's 400.
    case badRequest
    /// The id is not registered: the hub's 404.
    case notFound
    /// The registration existed and is lost: the hub's 410.
    case gone
    /// The hub is throttling or restarting; a retry may succeed.
    case busy
    /// Any other permanent failure.
    case failed
}

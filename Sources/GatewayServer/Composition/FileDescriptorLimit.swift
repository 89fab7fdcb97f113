internal import Foundation
internal import Logging

/// How many files and connections the process may have open at once.
enum FileDescriptorLimit {
    /// What the gateway can need: 10,000 connections of clients, 256 of the backend, and room for the stores and for admin.
    private static let wanted: rlim_t = 10_512

    /// Raises the limit as far as the system lets this user, and warns where that is not far enough. Called at the start.
    ///
    /// Systems begin at 1,024 for the sake of programs that use select(2). Left there, a few hundred connections of clients
    /// would keep the gateway from reaching its backend and the journal from its next segment.
    static func raise(logger: Logger) {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        if limit.rlim_cur < limit.rlim_max {
            let before = limit
            limit.rlim_cur = limit.rlim_max
            if setrlimit(resource, &limit) != 0 { limit = before }
        }
        guard limit.rlim_cur < wanted else { return }
        logger.warning(
            "Few files and connections may be open at once",
            metadata: ["limit": "\(limit.rlim_cur)", "wanted": "\(wanted)"])
    }
}

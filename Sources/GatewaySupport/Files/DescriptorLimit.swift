internal import Glibc

/// The limit of open file descriptors of the process.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit. The usual soft limit is 1,024, for programs that use select(2).
    ///
    /// - Returns: The limit from now on; nil if it cannot be read.
    @discardableResult
    package static func raise() -> UInt64? {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        if limit.rlim_cur < limit.rlim_max {
            let before = limit
            limit.rlim_cur = limit.rlim_max
            if setrlimit(resource, &limit) != 0 { limit = before }
        }
        return UInt64(limit.rlim_cur)
    }
}

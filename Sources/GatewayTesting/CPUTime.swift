#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Returns the CPU time that this thread spends in the closure, independent of other load on the machine.
public func cpuTime(_ body: () throws -> Void) rethrows -> Duration {
    func now() -> Duration {
        var reading = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &reading)
        return .seconds(reading.tv_sec) + .nanoseconds(reading.tv_nsec)
    }
    let start = now()
    try body()
    return now() - start
}

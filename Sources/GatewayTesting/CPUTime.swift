#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// How long this thread computes in the closure, whatever else the machine has to do meanwhile.
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

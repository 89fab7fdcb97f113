internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Small numbers of threads, by which threads choose among several copies of a resource: event loops that use different
/// copies neither wait for each other nor share a cache line.
package enum ThreadNumber {
    private static let last = Atomic(0)
    /// The key of each thread's number; nil if the system has no more keys.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// The number of the calling thread, from 1 on in the order of first use. 0 for all threads if the system has no
    /// more keys.
    package static var current: Int {
        guard let key else { return 0 }
        if let number = pthread_getspecific(key) { return Int(bitPattern: number) }
        let number = last.add(1, ordering: .relaxed).newValue
        // If this fails, the thread gets another number the next time, which is as good.
        _ = pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
        return number
    }
}

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

extension SecretFile {
    /// The exclusive right to replace a file, held from reading the old text to writing the new one.
    ///
    /// The lock is `flock` (flock(2)) on the file's directory. It creates no file, works if the file does not exist
    /// yet, and is released when the process exits. It is advisory: an editor ignores it.
    public final class Lock: Sendable {
        /// The file, with symbolic links resolved.
        let target: String
        private let descriptor: Int32

        /// Waits until no other command holds the lock of the directory.
        ///
        /// - Parameters:
        ///   - path: The file to replace.
        ///   - patience: The maximum time to wait.
        /// - Throws: A problem that names the file, if the wait times out or the directory cannot be opened.
        public init(_ path: String, patience: Duration = .seconds(30)) throws(ConfigurationProblem) {
            target = SecretFile.resolved(path)
            let directory = SecretFile.directory(of: target)
            let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw SecretFile.problem(path, "cannot be written: \(directory): \(SecretFile.lastError())")
            }
            let end = ContinuousClock.now + patience
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                let isHeld = errno == EWOULDBLOCK
                guard isHeld || errno == EINTR, ContinuousClock.now < end else {
                    let reason =
                        isHeld
                        ? "another command has held the lock of \(directory) for \(patience.components.seconds) s "
                            + "(`fuser -v \(directory)`); nothing was changed"
                        : "\(directory) cannot be locked: \(SecretFile.lastError())"
                    close(descriptor)
                    throw SecretFile.problem(path, reason)
                }
                usleep(2_000)
            }
            self.descriptor = descriptor
        }

        deinit { close(descriptor) }
    }
}

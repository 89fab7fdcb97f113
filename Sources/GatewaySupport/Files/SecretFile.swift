#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Functions that read and replace files with keys or password hashes. They block and must not be called on an event
/// loop.
public enum SecretFile {
    /// Returns the text of a regular file. Rejects a file that users other than the owner may write, or that users
    /// outside its group may read.
    ///
    /// - Parameters:
    ///   - isPublic: Whether every user may read the file, for example because it has public keys.
    ///   - remedy: The command that creates the file, for the message about a missing one.
    public static func text(
        at path: String, isPublic: Bool = false, remedy: String? = nil
    ) throws(ConfigurationProblem) -> String {
        // Non-blocking, so that opening a FIFO does not wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let isMissing = errno == ENOENT
            let isForbidden = errno == EACCES
            let hint =
                isMissing
                ? remedy.map { "; put it back, or create it with `\($0)`" } ?? ""
                : isForbidden ? " for uid \(geteuid()); run this as root or as the gateway's user" : ""
            throw problem(path, isMissing ? "does not exist\(hint)" : "cannot be read: \(lastError())\(hint)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw problem(path, "cannot be read: \(lastError())") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw problem(path, "is not a regular file") }
        guard status.st_mode & (S_IWOTH | S_IWGRP | (isPublic ? 0 : S_IROTH)) == 0 else {
            let (access, mode) = isPublic ? ("change", "644") : ("access", "640")
            throw problem(
                path,
                "has the mode \(octal(status.st_mode)), which lets other users \(access) it; run: chmod \(mode) \(path)"
            )
        }
        guard status.st_size <= YAMLDocument.maximumLength else {
            throw problem(path, "is longer than \(YAMLDocument.maximumLength) bytes")
        }
        return try contents(of: descriptor, path: path)
    }

    /// Returns whether no file of that name exists.
    public static func isAbsent(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 && errno == ENOENT
    }

    static func problem(_ path: String, _ message: String) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: path), path: "", message)
    }

    static func lastError() -> String { String(cString: strerror(errno)) }

    private static func contents(of descriptor: Int32, path: String) throws(ConfigurationProblem) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw problem(path, "cannot be read: \(lastError())") }
            if count == 0 { break }
            bytes += chunk.prefix(count)
            // The file may grow while it is read.
            guard bytes.count <= YAMLDocument.maximumLength else {
                throw problem(path, "is longer than \(YAMLDocument.maximumLength) bytes")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw problem(path, "is not UTF-8") }
        return text
    }

    private static func octal(_ mode: mode_t) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

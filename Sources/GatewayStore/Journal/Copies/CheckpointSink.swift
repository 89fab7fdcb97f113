internal import Glibc

/// Takes the lines of checkpoints to their second place. Used on one thread; may block for as long as the place does.
protocol CheckpointSink: Sendable {
    /// Takes one line, with its line feed.
    func take(_ line: [UInt8]) throws(FileFailure)
    /// Whether of several lines that wait only the last is of use.
    var needsLastOnly: Bool { get }
    /// How long to wait after lines before the next ones.
    var pause: Duration { get }
}

extension CheckpointSink {
    var needsLastOnly: Bool { false }
    var pause: Duration { .zero }
}

/// The end of a file. Opened anew for each line: a mount that was away is found again, and a file that was rotated is left.
struct CheckpointFile: CheckpointSink {
    let path: String

    func take(_ line: [UInt8]) throws(FileFailure) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileFailure("open", path) }
        defer { close(descriptor) }
        // One call a line: a reader of the file finds it whole, or at most one line torn by a full disk.
        let written = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == line.count else {
            throw written < 0 ? FileFailure("write", path) : FileFailure(unfit: path, "took part of a line")
        }
        guard fdatasync(descriptor) == 0 else { throw FileFailure("fdatasync", path) }
    }
}

/// The system's log (RFC 3164, section 4.1, as syslog daemons take it from a local socket): facility `authpriv`, severity
/// `notice`, tag `notify-gateway`.
struct CheckpointSyslog: CheckpointSink {
    /// Where a system's log daemon listens.
    static let standardPath = "/dev/log"
    var path = standardPath

    func take(_ line: [UInt8]) throws(FileFailure) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw FileFailure("socket", path) }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { place -> Bool in
            guard path.utf8.count < place.count else { return false }
            place.copyBytes(from: path.utf8)
            return true
        }
        guard fits else { throw FileFailure(unfit: path, "is too long for a socket's path") }
        let packet = Array("<85>notify-gateway[\(getpid())]: ".utf8) + line.dropLast()
        let sent = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                packet.withUnsafeBytes {
                    sendto(
                        descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), address,
                        socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        guard sent == packet.count else { throw FileFailure("sendto", path) }
    }
}

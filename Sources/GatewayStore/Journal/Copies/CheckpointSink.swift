internal import GatewaySupport
internal import Glibc

/// A destination of checkpoint lines. Confined to one thread; may block.
protocol CheckpointSink: Sendable {
    /// Stores one line, given with its line feed.
    func store(_ line: [UInt8]) throws(FileFailure)
    /// Whether only the last of several waiting lines is needed.
    var needsLastOnly: Bool { get }
    /// The pause after the waiting lines were stored.
    var pause: Duration { get }
}

extension CheckpointSink {
    var needsLastOnly: Bool { false }
    var pause: Duration { .zero }
}

/// Appends checkpoints to a file. Opens the file for each line, so that writing resumes after a remount and follows log
/// rotation.
struct CheckpointFile: CheckpointSink {
    let path: String

    func store(_ line: [UInt8]) throws(FileFailure) {
        let descriptor = try PrivateFiles.openRegular(path, O_WRONLY | O_APPEND | O_CREAT)
        defer { close(descriptor) }
        // One write call for each line, so that the file has complete lines, unless the disk is full.
        let written = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == line.count else {
            throw written < 0 ? FileFailure("write", path) : FileFailure(unfit: path, "accepted only a part of a line")
        }
        guard fdatasync(descriptor) == 0 else { throw FileFailure("fdatasync", path) }
    }
}

/// Sends checkpoints to the system log through its local socket (RFC 3164, section 4.1): facility `authpriv`, severity
/// `notice`, tag `notify-gateway`.
struct CheckpointSyslog: CheckpointSink {
    /// The socket of the system's log daemon.
    static let standardPath = "/dev/log"
    var path = standardPath

    func store(_ line: [UInt8]) throws(FileFailure) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw FileFailure("socket", path) }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { buffer -> Bool in
            guard path.utf8.count < buffer.count else { return false }
            buffer.copyBytes(from: path.utf8)
            return true
        }
        guard fits else { throw FileFailure(unfit: path, "is too long for the path of a socket") }
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

/// A destination outside the journal to which checkpoints are copied. Verification finds a checkpoint there that a
/// truncated journal no longer contains.
public enum CheckpointDestination: Sendable, Hashable {
    /// A file to which lines are appended, preferably on a disk or mount where the gateway's user can only append.
    case file(String)
    /// The system log.
    case syslog
}

extension JournalFile.Configuration {
    /// The destinations of checkpoint copies: the configured one and the ledger.
    var checkpointSinks: [any CheckpointSink] {
        var sinks: [any CheckpointSink] = []
        switch checkpointCopy {
        case .file(let path): sinks.append(CheckpointFile(path: path))
        case .syslog: sinks.append(CheckpointSyslog())
        case nil: break
        }
        if let ledger { sinks.append(LedgerCheckpointSink(ledger: ledger)) }
        return sinks
    }
}

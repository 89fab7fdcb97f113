internal import Foundation
internal import GatewaySupport

/// A private file beside the ledger by which a command passes a long input to whoever opens the stores, or receives a long
/// output. Only the command reads and writes the path that its caller named: the service sees neither the caller's home nor
/// the same /tmp.
///
/// The file belongs to the owner of the stores. `remove()` deletes it; the next command deletes what a killed one left.
public struct SpooledFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The path of an output, which the owner of the stores creates.
    public var output: String { path + Self.outputSuffix }
    private let file: CInt

    private static let (prefix, outputSuffix) = (".spool-", ".out")

    /// Creates an empty file beside the ledger. Blocks.
    public init(besideLedger ledger: String) throws {
        // The gateway takes absolute paths only.
        let ledger = URL(filePath: ledger).standardizedFileURL.path(percentEncoded: false)
        let directory = PrivateFiles.parent(of: ledger)
        try PrivateFiles.makeDirectory(directory)
        Self.removeLeftovers(in: directory)
        path = "\(directory)/\(Self.prefix)\(UUID().uuidString)"
        file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw FileFailure("create", path) }
        _ = flock(file, LOCK_EX | LOCK_NB)
        do {
            let owner = StoresOwner(ofFile: ledger)
            try FileOwner(user: owner.user, group: owner.group).own(file, path)
        } catch {
            remove()
            throw error
        }
    }

    /// Copies a file, or standard input for `-`, into this one. Blocks.
    public func fill(from source: String) throws {
        let input = source == "-" ? dup(STDIN_FILENO) : open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else {
            if errno == ENOENT { throw FileFailure(unfit: source, "does not exist") }
            throw FileFailure("open", source)
        }
        defer { close(input) }
        try Self.copy(from: input, source, to: file, path)
    }

    /// Copies the output to a new file of mode 0600, complete or absent, or to standard output for `-`. Blocks.
    public func deliver(to target: String) throws {
        let input = try PrivateFiles.openRegular(output, O_RDONLY)
        defer { close(input) }
        if target == "-" { return try Self.copy(from: input, output, to: STDOUT_FILENO, "standard output") }
        guard access(target, F_OK) != 0 else { throw FileFailure("create", target, code: EEXIST) }
        let draft = target + ".part"
        try PrivateFiles.remove(draft)
        let copy = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard copy >= 0 else { throw FileFailure("create", draft) }
        defer { close(copy) }
        do {
            try Self.copy(from: input, output, to: copy, draft)
            guard fsync(copy) == 0 else { throw FileFailure("fsync", draft) }
            try PrivateFiles.rename(draft, to: target)
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Removes the file and the output.
    public func remove() {
        Self.remove(path)
        close(file)
    }

    private static func copy(from input: CInt, _ source: String, to output: CInt, _ path: String) throws(FileFailure) {
        var chunk = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = read(input, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFailure("read", source) }
            if count == 0 { return }
            try AtomicFile.writeAll(chunk[..<count], to: output, path)
        }
    }

    private static func removeLeftovers(in directory: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where name.hasPrefix(prefix) && !name.contains(outputSuffix) {
            let path = "\(directory)/\(name)"
            let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard file >= 0 else { continue }
            defer { close(file) }
            // The command that made the file holds the lock.
            if flock(file, LOCK_EX | LOCK_NB) == 0 { remove(path) }
        }
    }

    private static func remove(_ path: String) {
        for suffix in ["", outputSuffix, outputSuffix + ".part"] { unlink(path + suffix) }
    }
}

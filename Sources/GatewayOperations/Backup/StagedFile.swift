internal import Foundation
internal import GatewayStore
internal import GatewaySupport

/// A file of a backup beside the place where it belongs, under a hidden name. It has the content, the owner, the mode and
/// the time of the final file, and is on disk. A rename puts it in place.
struct StagedFile {
    let member: BackupMember
    /// The final path.
    let path: String
    /// The path until then.
    var draft: String { Self.draft(of: path) }

    /// Returns the path of a file before it is in place.
    static func draft(of path: String) -> String {
        "\(PrivateFiles.parent(of: path))/.restore-\((path as NSString).lastPathComponent)"
    }

    /// Removes the file.
    func discard() { unlink(draft) }

    /// Puts the file in place.
    func publish() throws { try PrivateFiles.rename(draft, to: path) }

    /// The relation of the content at a path to that of the file.
    enum Existing {
        case absent, same
        /// The content of the file, and more.
        case longer
        case different
    }

    /// Compares the file with what is at its place. An empty file counts as absent. Blocks.
    func existing() throws -> Existing {
        let present: CInt
        do throws(FileFailure) {
            present = try PrivateFiles.openRegular(path, O_RDONLY)
        } catch {
            if error.isMissing { return .absent }
            throw error
        }
        defer { close(present) }
        let own = try PrivateFiles.openRegular(draft, O_RDONLY)
        defer { close(own) }
        let (presentSize, size) = (Int(lseek(present, 0, SEEK_END)), Int(lseek(own, 0, SEEK_END)))
        guard presentSize >= 0, size >= 0 else { throw FileFailure("lseek", path) }
        if presentSize == 0 { return .absent }
        guard presentSize >= size else { return .different }
        var (left, right) = ([UInt8](repeating: 0, count: 1 << 18), [UInt8](repeating: 0, count: 1 << 18))
        var offset = 0
        while offset < size {
            let count = min(left.count, size - offset)
            try Self.read(own, &left, count, at: offset, draft)
            try Self.read(present, &right, count, at: offset, path)
            guard left.prefix(count).elementsEqual(right.prefix(count)) else { return .different }
            offset += count
        }
        return presentSize == size ? .same : .longer
    }

    private static func read(
        _ file: CInt, _ buffer: inout [UInt8], _ count: Int, at offset: Int, _ path: String
    ) throws(FileFailure) {
        var filled = 0
        while filled < count {
            let got = buffer.withUnsafeMutableBytes { bytes in
                pread(file, bytes.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw FileFailure("read", path) }
            filled += got
        }
    }
}

/// Receives the members of a backup and writes each beside its place.
struct StagingArea: BackupReceiver {
    private let places: BackupPlaces
    private let owner: FileOwner
    /// The files, in the order of the backup.
    private(set) var files: [StagedFile] = []
    /// The members for which the configuration has no place.
    private(set) var skipped: [BackupMember] = []
    private var output: CInt = -1
    private var modified = WallTime(seconds: 0)

    init(_ places: BackupPlaces, owner: FileOwner) {
        self.places = places
        self.owner = owner
    }

    mutating func begin(_ member: BackupMember, modified: WallTime) throws {
        guard let path = places.path(of: member) else {
            skipped.append(member)
            return
        }
        let parent = PrivateFiles.parent(of: path)
        if access(parent, F_OK) != 0 {
            for directory in try PrivateFiles.makeDirectory(parent) { try owner.own(directory) }
        }
        let file = StagedFile(member: member, path: path)
        file.discard()
        output = open(file.draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw FileFailure("create", file.draft) }
        files.append(file)
        self.modified = modified
    }

    func receive(_ bytes: ArraySlice<UInt8>) throws {
        guard output >= 0, let file = files.last else { return }
        try AtomicFile.writeAll(bytes, to: output, file.draft)
    }

    mutating func end() throws {
        guard output >= 0, let file = files.last else { return }
        defer {
            close(output)
            output = -1
        }
        try owner(of: file).own(output, file.draft)
        // Readers of the journal go by the times of its segments.
        let time = timespec(tv_sec: Int(modified.seconds), tv_nsec: 0)
        guard futimens(output, [time, time]) == 0 else { throw FileFailure("utimensat", file.draft) }
        guard fsync(output) == 0 else { throw FileFailure("fsync", file.draft) }
    }

    /// Removes all files.
    mutating func discard() {
        if output >= 0 { close(output) }
        output = -1
        for file in files { file.discard() }
        files = []
    }

    /// Returns the owner of a file. Token keys stay with the owner of their directory, which is root's under /etc: the
    /// service reads them by its group.
    private func owner(of file: StagedFile) throws(FileFailure) -> FileOwner {
        guard case .tokenKeys = file.member else { return owner }
        let parent = StoresOwner(ofFile: file.path).user
        guard parent != owner.user else { return owner }
        guard geteuid() != 0 || fchmod(output, 0o640) == 0 else { throw FileFailure("chmod", file.draft) }
        return FileOwner(user: parent, group: owner.group)
    }
}

package import GatewaySupport
internal import Glibc

/// The receiver of the members of a backup while it is read. Nothing that it receives is verified before the reader has
/// returned.
package protocol BackupReceiver {
    /// Begins the next member.
    mutating func begin(_ member: BackupMember, modified: WallTime) throws
    /// Receives a part of the member.
    mutating func receive(_ bytes: ArraySlice<UInt8>) throws
    /// Ends the member.
    mutating func end() throws
}

/// Reads a backup and verifies it: each byte of the archive is either compared or covered by a digest. A damaged, incomplete
/// or foreign archive is an error.
///
/// Holds one buffer, whatever the size of a member is. All functions block.
package struct BackupReader: ~Copyable {
    private let input: CInt
    private let path: String
    private var buffer: ArraySlice<UInt8> = []
    private var digests: [UInt8] = []
    private var members: Set<BackupMember> = []
    private var last: BackupMember?

    private static let changed = BackupFailure("it was changed or is not a backup of notify-gateway")
    private static let cutOff = BackupFailure("it is incomplete: its end is missing")
    private static let zeros = [UInt8](repeating: 0, count: TarHeader.blockSize)

    private init(_ input: CInt, _ path: String) {
        self.input = input
        self.path = path
    }

    /// Reads a backup to its end and passes its members on, without the manifest and the digests.
    ///
    /// - Parameters:
    ///   - input: The descriptor of a file or a pipe.
    ///   - path: Its name for messages.
    /// - Throws: `BackupFailure` for an archive that must not be used, and the errors of the receiver.
    package static func read(
        _ input: CInt, _ path: String, into receiver: inout some BackupReceiver
    ) throws -> BackupManifest {
        var reader = BackupReader(input, path)
        do {
            return try reader.run(&receiver)
        } catch let failure as BackupFailure {
            throw BackupFailure("\(path) cannot be used: \(failure)")
        }
    }

    /// Verifies a backup.
    package static func verify(_ input: CInt, _ path: String) throws -> BackupManifest {
        var nobody = Nobody()
        return try read(input, path, into: &nobody)
    }

    private struct Nobody: BackupReceiver {
        func begin(_ member: BackupMember, modified: WallTime) {}
        func receive(_ bytes: ArraySlice<UInt8>) {}
        func end() {}
    }

    private mutating func run(_ receiver: inout some BackupReceiver) throws -> BackupManifest {
        guard let first = try next(), first.member == .manifest else { throw Self.changed }
        let manifest = try BackupManifest(try content(of: first))
        while let (member, header) = try next() {
            if member == .digests {
                let expected = digests
                guard try content(of: (member, header)) == expected else {
                    throw BackupFailure("it was changed: a member does not match its digest, or is missing")
                }
                try readEnd()
                try manifest.requireComplete(members)
                return manifest
            }
            try receiver.begin(member, modified: WallTime(seconds: Int64(header.modified)))
            try forEachPart(of: member, header.size) { try receiver.receive($0) }
            try receiver.end()
        }
        throw BackupFailure("it is incomplete: its digests are missing")
    }

    /// Returns the next member; nil at the end of the archive.
    private mutating func next() throws -> (member: BackupMember, header: TarHeader)? {
        let block = try take(TarHeader.blockSize)
        if block.elementsEqual(Self.zeros) { return nil }
        guard let header = TarHeader(block) else { throw Self.changed }
        guard let member = BackupMember(header.name) else {
            throw BackupFailure("it has a member that a backup of this version does not have")
        }
        guard member.sizes.contains(header.size) else {
            throw BackupFailure("its member \(member.name) has \(header.size) bytes, which is not possible")
        }
        if let last, member.place <= last.place {
            throw BackupFailure("its member \(member.name) is a duplicate or out of order")
        }
        last = member
        members.insert(member)
        return (member, header)
    }

    private mutating func content(of found: (member: BackupMember, header: TarHeader)) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachPart(of: found.member, found.header.size) { bytes += $0 }
        return bytes
    }

    private mutating func forEachPart(
        of member: BackupMember, _ size: Int, _ body: (ArraySlice<UInt8>) throws -> Void
    ) throws {
        guard let digest = SHA256.Accumulator() else { throw BackupFailure("libcrypto cannot compute SHA-256") }
        var rest = size
        while rest > 0 {
            if buffer.isEmpty { try fill() }
            let part = buffer.prefix(rest)
            guard part.withUnsafeBytes(digest.add) else { throw BackupFailure("libcrypto cannot compute SHA-256") }
            try body(part)
            buffer = buffer.dropFirst(part.count)
            rest -= part.count
        }
        guard try take(TarHeader.padding(after: size)).allSatisfy({ $0 == 0 }) else { throw Self.changed }
        guard let sum = digest.finish() else { throw BackupFailure("libcrypto cannot compute SHA-256") }
        if member != .digests { digests += BackupWriter.digestLine(member, sum) }
    }

    /// Reads the two blocks at the end. Nothing may follow.
    private mutating func readEnd() throws {
        guard try take(2 * TarHeader.blockSize).allSatisfy({ $0 == 0 }) else { throw Self.changed }
        let following = buffer.isEmpty ? try readMore() : buffer.count
        guard following == 0 else { throw BackupFailure("it was changed: bytes follow its end") }
    }

    private mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
        while buffer.count < count { try fill() }
        defer { buffer = buffer.dropFirst(count) }
        return buffer.prefix(count)
    }

    private mutating func fill() throws {
        guard try readMore() > 0 else { throw Self.cutOff }
    }

    private mutating func readMore() throws -> Int {
        var chunk = [UInt8](repeating: 0, count: BackupWriter.bufferSize)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(input, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFailure("read", path) }
            buffer = buffer.isEmpty ? chunk[..<count] : Array(buffer)[...] + chunk[..<count]
            return count
        }
    }
}

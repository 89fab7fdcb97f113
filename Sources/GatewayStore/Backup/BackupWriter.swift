package import GatewaySupport
internal import Glibc

/// Writes a backup: a tar archive of members in their order, whose last one has the digests of all others.
///
/// Holds one buffer, whatever the size of a member is. All functions block.
package struct BackupWriter: ~Copyable {
    private let output: CInt
    private let path: String
    private var digests: [UInt8] = []

    static let bufferSize = 1 << 18

    /// Begins a backup.
    ///
    /// - Parameters:
    ///   - output: The descriptor of a file or a pipe.
    ///   - path: Its name for messages.
    package init(to output: CInt, _ path: String, _ manifest: BackupManifest) throws {
        self.output = output
        self.path = path
        try add(.manifest, manifest.bytes, modified: manifest.created)
    }

    /// Adds a member with these bytes.
    package mutating func add(_ member: BackupMember, _ bytes: [UInt8], modified: WallTime) throws {
        guard let digest = bytes.withUnsafeBytes({ SHA256.Digest(of: $0) }) else {
            throw BackupFailure("libcrypto cannot compute SHA-256")
        }
        try writeHeader(member, size: bytes.count, modified)
        try write(bytes[...])
        try finish(member, size: bytes.count, digest)
    }

    /// Adds a member with the first bytes of a file.
    ///
    /// - Parameter source: The path of the file, for messages.
    package mutating func add(
        _ member: BackupMember, contentsOf file: CInt, _ source: String, size: Int, modified: WallTime
    ) throws {
        guard size <= member.sizes.upperBound else {
            throw BackupFailure("\(source) has \(size) bytes; a backup can have at most \(member.sizes.upperBound)")
        }
        guard let digest = SHA256.Accumulator() else { throw BackupFailure("libcrypto cannot compute SHA-256") }
        try writeHeader(member, size: size, modified)
        var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        var offset = 0
        while offset < size {
            let wanted = min(buffer.count, size - offset)
            let count = buffer.withUnsafeMutableBytes { pread(file, $0.baseAddress, wanted, off_t(offset)) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFailure("read", source) }
            guard count > 0 else { throw BackupFailure("\(source) was shortened while it was read") }
            guard buffer[..<count].withUnsafeBytes(digest.add) else {
                throw BackupFailure("libcrypto cannot compute SHA-256")
            }
            try write(buffer[..<count])
            offset += count
        }
        guard let sum = digest.finish() else { throw BackupFailure("libcrypto cannot compute SHA-256") }
        try finish(member, size: size, sum)
    }

    /// Adds the digests and the end of the archive.
    package consuming func finish() throws {
        let bytes = digests
        try writeHeader(.digests, size: bytes.count, WallTime(seconds: 0))
        try write(bytes[...])
        try writeZeros(TarHeader.padding(after: bytes.count) + 2 * TarHeader.blockSize)
    }

    private func writeHeader(_ member: BackupMember, size: Int, _ modified: WallTime) throws {
        // Rounded up, because readers of the journal skip a segment that is older than what they look for.
        let seconds = min(max(0, Int(modified.adding(999_999).seconds)), TarHeader.maximumTime)
        try write(TarHeader(name: member.name, size: size, modified: seconds).bytes[...])
    }

    private mutating func finish(_ member: BackupMember, size: Int, _ digest: SHA256.Digest) throws {
        try writeZeros(TarHeader.padding(after: size))
        digests += BackupWriter.digestLine(member, digest)
    }

    /// Returns the line of a member among the digests.
    static func digestLine(_ member: BackupMember, _ digest: SHA256.Digest) -> [UInt8] {
        Array("\(String(hexEncoding: digest.bytes))  \(member.name)\n".utf8)
    }

    private func writeZeros(_ count: Int) throws { try write([UInt8](repeating: 0, count: count)[...]) }

    private func write(_ bytes: ArraySlice<UInt8>) throws(FileFailure) {
        try AtomicFile.writeAll(bytes, to: output, path)
    }
}

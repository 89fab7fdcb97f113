internal import GatewaySupport
internal import Glibc
internal import NIOCore
internal import OutboundHTTP

/// A finished segment that is open for reading, with its digest. It is never held in memory as a whole.
///
/// `pread` has no state, so any thread may read.
final class SegmentFile: Sendable {
    let size: Int
    let digest: SHA256.Digest
    private let path: String
    private let descriptor: CInt

    /// The number of bytes that are read at once.
    static let chunkBytes = 256 << 10

    /// Opens the file and computes its digest. Blocks while all of it is read.
    init(_ path: String) throws(FileFailure) {
        descriptor = try PrivateFiles.openRegular(path, O_RDONLY)
        self.path = path
        var (size, digest) = (0, SHA256.Digest.zero)
        var failure: FileFailure?
        do throws(FileFailure) {
            (size, digest) = try Self.digest(descriptor, path)
        } catch {
            failure = error
        }
        (self.size, self.digest) = (size, digest)
        // All properties are set, so `deinit` closes the file.
        if let failure { throw failure }
    }

    deinit { _ = close(descriptor) }

    /// Returns the digest of a file; nil if it does not exist. Blocks while all of it is read.
    static func digest(ofFileAt path: String) throws(FileFailure) -> SHA256.Digest? {
        do throws(FileFailure) {
            return try SegmentFile(path).digest
        } catch  where error.isMissing {
            return nil
        }
    }

    private static func digest(_ descriptor: CInt, _ path: String) throws(FileFailure) -> (Int, SHA256.Digest) {
        var size = 0
        let digest = SHA256.Accumulator()
        while true {
            let chunk = try read(descriptor, path, from: size)
            if chunk.isEmpty { break }
            guard chunk.withUnsafeBytes({ digest?.add($0) }) == true else { break }
            size += chunk.count
        }
        guard let digest = digest?.finish() else { throw FileFailure(unfit: path, "has no digest: libcrypto failed") }
        return (size, digest)
    }

    private static func read(_ descriptor: CInt, _ path: String, from offset: Int) throws(FileFailure) -> [UInt8] {
        var code: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: chunkBytes) { buffer, filled in
            while true {
                let got = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                if got < 0, errno == EINTR { continue }
                if got < 0 { code = errno }
                filled = max(0, got)
                return
            }
        }
        guard code == 0 else { throw FileFailure("read", path, code: code) }
        return bytes
    }

    /// The content as the body of a request, read by a thread while it is sent.
    struct Chunks: AsyncSequence, Sendable {
        typealias Element = ByteBuffer
        let file: SegmentFile
        let thread: DeliveryThread

        /// Reads the next chunk when the connection takes more.
        struct Iterator: AsyncIteratorProtocol {
            let file: SegmentFile
            let thread: DeliveryThread
            var offset = 0

            mutating func next() async throws -> ByteBuffer? {
                let (start, file) = (offset, file)
                guard start < file.size else { return nil }
                let bytes = try await thread.run { () throws(DeliveryFailure) in
                    do throws(FileFailure) {
                        return try SegmentFile.read(file.descriptor, file.path, from: start)
                    } catch {
                        throw DeliveryFailure(error)
                    }
                }
                guard !bytes.isEmpty else { throw DeliveryFailure("\(file.path) became shorter while it was sent") }
                let part = bytes.prefix(file.size - start)
                offset += part.count
                return ByteBuffer(bytes: part)
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(file: file, thread: thread) }
    }
}

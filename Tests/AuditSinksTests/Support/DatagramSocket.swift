import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A bound Unix socket of the type SOCK_DGRAM.
final class DatagramSocket: Sendable {
    private let descriptor: CInt

    struct Failure: Error {}

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw Failure() }
    }

    deinit { close(descriptor) }

    /// Receives this many datagrams on a thread of its own.
    func receive(_ count: Int) async -> [[UInt8]] {
        await withCheckedContinuation { continuation in
            let descriptor = descriptor
            Thread.detachNewThread {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                var datagrams: [[UInt8]] = []
                while datagrams.count < count {
                    let length = recv(descriptor, &buffer, buffer.count, 0)
                    guard length >= 0 else { break }
                    datagrams.append(Array(buffer.prefix(length)))
                }
                continuation.resume(returning: datagrams)
            }
        }
    }
}

/// A listening Unix socket of the type SOCK_STREAM that accepts no connection.
final class ListeningSocket: Sendable {
    private let descriptor: CInt

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(descriptor, 4) == 0 else { throw DatagramSocket.Failure() }
    }

    func close() { _ = shutdown(descriptor, CInt(SHUT_RDWR)) }
}

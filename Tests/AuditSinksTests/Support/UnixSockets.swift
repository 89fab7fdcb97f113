import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A Unix socket that is bound to a path.
private struct BoundSocket {
    let descriptor: CInt

    struct Failure: Error {}

    init(_ path: String, type: __socket_type) throws {
        descriptor = socket(AF_UNIX, CInt(type.rawValue), 0)
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
}

/// A bound Unix socket of the type SOCK_DGRAM.
final class DatagramSocket: Sendable {
    private let descriptor: CInt

    init(_ path: String) throws { descriptor = try BoundSocket(path, type: SOCK_DGRAM).descriptor }

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

/// A listening Unix socket of the type SOCK_STREAM.
final class ListeningSocket: Sendable {
    private let descriptor: CInt

    init(_ path: String) throws {
        descriptor = try BoundSocket(path, type: SOCK_STREAM).descriptor
        guard listen(descriptor, 4) == 0 else { throw BoundSocket.Failure() }
    }

    deinit { close(descriptor) }

    /// Accepts a connection on a thread of its own and reads one byte of it. The caller closes the descriptor.
    func acceptAndReadOneByte() async throws -> CInt {
        let connection = await withCheckedContinuation { continuation in
            let descriptor = descriptor
            Thread.detachNewThread {
                let accepted = accept(descriptor, nil, nil)
                var byte: UInt8 = 0
                let count = recv(accepted, &byte, 1, 0)
                continuation.resume(returning: count == 1 ? accepted : -1)
            }
        }
        guard connection >= 0 else { throw BoundSocket.Failure() }
        return connection
    }
}

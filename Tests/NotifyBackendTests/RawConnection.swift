import Dispatch
import Foundation
import Glibc

/// A blocking client connection for plain bytes. Its calls run on a separate thread, so that they never block a thread
/// that the server needs.
final class RawConnection: Sendable {
    struct Failure: Error {
        let what: String
    }

    private let descriptor: Int32

    init(port: Int) async throws {
        descriptor = try await Self.blocking {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(port).bigEndian)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return try Self.connect(AF_INET, &address)
        }
    }

    init(socketPath: String) async throws {
        descriptor = try await Self.blocking {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
            return try Self.connect(AF_UNIX, &address)
        }
    }

    deinit {
        close(descriptor)
    }

    private static func connect<Address>(_ family: Int32, _ address: inout Address) throws -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(what: "socket") }
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafeBytes(of: &address) { bytes in
            // The address families share the first field of their sockaddr; the length tells how many bytes follow.
            Glibc.connect(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
        }
        guard result == 0 else {
            close(descriptor)
            throw Failure(what: "connect: \(errno)")
        }
        return descriptor
    }

    func send(_ text: String) async throws {
        try await Self.blocking { [descriptor] in
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure(what: "send: \(errno)") }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Reads until the text is complete. Throws if the connection ends before that.
    func read(until isComplete: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await Self.blocking { [descriptor] in
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let text = String(decoding: bytes, as: UTF8.self)
                if isComplete(text) { return text }
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { throw Failure(what: "closed or silent after: \(text)") }
                bytes += buffer[..<count]
            }
        }
    }

    /// Reads everything until the server closes the connection, and returns the text.
    func readEnd() async throws -> String {
        try await Self.blocking { [descriptor] in
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count >= 0 else { throw Failure(what: "recv: \(errno)") }
                if count == 0 { return String(decoding: bytes, as: UTF8.self) }
                bytes += buffer[..<count]
            }
        }
    }

    private static func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            // A new queue gets its own thread at once. The global queues share their threads with Swift's tasks.
            DispatchQueue(label: "raw-connection").async { continuation.resume(with: Result { try work() }) }
        }
    }
}

internal import GatewaySupport
internal import Glibc
package import NIOSSL
internal import OutboundTLS
internal import Synchronization

/// The file of the certificate authorities that a receiver's certificate must descend from, in PEM.
///
/// The file is read for each request over HTTP and each connection of syslog, so that a replaced one needs no reload.
public final class AuthorityFile: Sendable {
    private let path: String?
    private let last = Mutex<(bytes: [UInt8], certificates: [NIOSSLCertificate])>(([], []))

    private static let maximumBytes = 1 << 20

    /// Creates the object. Opens no file.
    ///
    /// - Parameter path: The path of the file; nil for the authorities of the system.
    package init(_ path: String?) { self.path = path }

    /// Returns the configuration of connections to the receiver. Equal files result in equal configurations. Blocks.
    package func clientConfiguration() throws(DeliveryFailure) -> TLSConfiguration {
        guard let path else { return .outbound(trusting: nil) }
        let bytes = try Self.read(path)
        let certificates = last.withLock { last in
            if bytes != last.bytes { last = (bytes, Self.certificates(bytes)) }
            return last.certificates
        }
        guard !certificates.isEmpty else { throw DeliveryFailure("\(path) contains no certificate in PEM") }
        return .outbound(trusting: certificates)
    }

    /// Returns what is wrong with a file, to follow its path; nil if it is usable. Blocks.
    public static func problem(with path: String) -> String? {
        do throws(DeliveryFailure) {
            return certificates(try read(path)).isEmpty ? "\(path) contains no certificate in PEM" : nil
        } catch {
            return error.reason
        }
    }

    private static func certificates(_ bytes: [UInt8]) -> [NIOSSLCertificate] {
        (try? NIOSSLCertificate.fromPEMBytes(bytes)) ?? []
    }

    private static func read(_ path: String) throws(DeliveryFailure) -> [UInt8] {
        // Non-blocking, so that opening a FIFO does not wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw DeliveryFailure(FileFailure("open", path)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= maximumBytes {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw DeliveryFailure(FileFailure("read", path)) }
            if count == 0 { return bytes }
            bytes += chunk.prefix(count)
        }
        throw DeliveryFailure("\(path) is longer than \(maximumBytes) bytes")
    }
}

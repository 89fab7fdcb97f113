import Foundation
import GatewayTesting
import Glibc
import PostgreSQLClient

/// A server on a Unix socket that accepts a session and then responds with scripted bytes to each request that ends with
/// Sync or that is a simple query. It serves one session, on a thread of its own.
final class HostileServer: Sendable {
    private let files: TestFiles
    private let listener: Int32

    /// The settings by which a client reaches it.
    var settings: PostgreSQLSettings {
        var settings = PostgreSQLSettings(
            address: .unixSocket(directory: files.path, port: 5432), database: "d", user: "u")
        settings.statementTimeout = .seconds(2)
        settings.requiresPrimary = false
        return settings
    }

    /// Listens, and closes the session after the last response.
    init(_ responses: [[UInt8]]) throws {
        files = try TestFiles()
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = "\(files.path)/.s.PGSQL.5432"
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0, listen(listener, 4) == 0 else { throw SystemTools.Failure(description: "no socket") }
        Thread.detachNewThread { [listener] in Self.serve(listener, responses) }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ listener: Int32, _ responses: [[UInt8]]) {
        let session = accept(listener, nil, nil)
        defer { close(session) }
        // The startup packet has no type.
        guard let length = read(session, 4).map(number), read(session, length - 4) != nil else { return }
        let greeting =
            message("R", [0, 0, 0, 0]) + message("S", Array("server_version\0".utf8) + Array("15.0\0".utf8))
            + message("K", [0, 0, 0, 1, 0, 0, 0, 2]) + ready
        send(session, greeting)
        for response in responses {
            var type: UInt8 = 0
            while type != UInt8(ascii: "S"), type != UInt8(ascii: "Q") {
                guard let head = read(session, 5), read(session, number(Array(head[1...])) - 4) != nil else { return }
                type = head[0]
            }
            send(session, response)
        }
    }

    private static func number(_ bytes: [UInt8]) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func read(_ session: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: max(0, count))
        var received = 0
        while received < bytes.count {
            let part = bytes.withUnsafeMutableBytes { recv(session, $0.baseAddress! + received, count - received, 0) }
            guard part > 0 else { return nil }
            received += part
        }
        return bytes
    }

    private static func send(_ session: Int32, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let part = bytes.withUnsafeBytes {
                Glibc.send(session, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard part > 0 else { return }
            sent += part
        }
    }
}

extension HostileServer {
    /// A message of the protocol.
    static func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
        [type.asciiValue ?? 0] + withUnsafeBytes(of: UInt32(body.count + 4).bigEndian) { Array($0) } + body
    }

    /// ReadyForQuery.
    static let ready = message("Z", [UInt8(ascii: "I")])
    /// The response to the preparation of a statement.
    static let prepared = message("1", []) + ready

    /// RowDescription of columns with these types, in this format.
    static func columns(_ types: [UInt8], format: UInt8 = 1) -> [UInt8] {
        message(
            "T",
            [0, UInt8(types.count)]
                + types.flatMap { [UInt8(ascii: "c"), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $0, 0, 8, 0, 0, 0, 0, 0, format] })
    }

    /// DataRow.
    static func row(_ values: [[UInt8]]) -> [UInt8] {
        message("D", [0, UInt8(values.count)] + values.flatMap { [0, 0, 0, UInt8($0.count)] + $0 })
    }

    /// The response to an execution, with the messages between.
    static func execution(_ messages: [UInt8]) -> [UInt8] {
        message("2", []) + messages + message("C", Array("SELECT 1\0".utf8)) + ready
    }
}

import Foundation
import Gateway
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import GatewayHTTP

/// Tests of listening on a Unix domain socket.
@Suite(.timeLimit(.minutes(1)))
struct UnixSocketTests {
    private static let group = MultiThreadedEventLoopGroup.singleton

    private func start(_ path: String, mode: UInt32 = 0o600) async throws -> Listener {
        var configuration = ListenerConfiguration(address: .unix(path: path, mode: mode))
        // Unix sockets are exempt from the limit.
        configuration.connections.perPeer = 0
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer) \($0.allowsCredentials)".utf8)) }
        return try await Listener.start(configuration: configuration, serving: serving, group: Self.group)
    }

    private func ask(_ listener: Listener) async throws -> String {
        let client = try await RawConnection.connect(to: listener.localAddress, group: Self.group)
        try await client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        return await client.receiveToEnd()
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test("The socket file has the configured mode", arguments: [0o600, 0o660, 0o666] as [UInt32])
    func theSocketFileHasTheConfiguredMode(_ mode: UInt32) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/socket"
            let listener = try await start(path, mode: mode)
            #expect(try self.mode(path) == Int(mode))
            #expect(listener.port == nil)
            #expect(try await ask(listener).hasSuffix("\r\n\r\nunix true"))
            await listener.close()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("A stale socket file is replaced") func aStaleSocketFileIsReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/socket"
            // A killed process leaves the file of a closed socket.
            close(try UnixSocketFile.make(path: path, mode: 0o600).descriptor)
            #expect(FileManager.default.fileExists(atPath: path))
            let listener = try await start(path)
            #expect(try await ask(listener).hasPrefix("HTTP/1.1 200 "))
            await listener.close()
        }
    }

    @Test("The socket of another listener is not replaced")
    func theSocketOfAnotherListenerIsNotReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/socket"
            let listener = try await start(path)
            await #expect(throws: ListenerError.inUse(path: path)) { try await start(path) }
            #expect(try await ask(listener).hasPrefix("HTTP/1.1 200 "))
            await listener.close()
        }
    }

    @Test("A file that is not a socket is not replaced") func aFileThatIsNotASocketIsNotReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/file"
            try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
            await #expect(throws: ListenerError.notASocket(path: path)) { try await start(path) }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
        }
    }

    @Test("The file of a successor is not removed") func theFileOfASuccessorIsNotRemoved() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/socket"
            let first = try await start(path)
            try FileManager.default.removeItem(atPath: path)
            let second = try await start(path)
            await first.close()
            #expect(try await ask(second).hasPrefix("HTTP/1.1 200 "))
            await second.close()
        }
    }
}

import BenchmarkSupport
import Foundation
import NIOCore

/// A filled, idle gateway of one size.
final class Case {
    let calls: [(name: String, requests: [ByteBuffer])]
    private let home: TemporaryDirectory
    private let gateway: GatewayProcess
    private let connections: Int
    private let loop: any EventLoop

    init(
        _ dimension: any Dimension, size: Int, program: String, directory: String, backendPort: Int,
        connections: Int, on loop: any EventLoop
    ) async throws {
        home = try TemporaryDirectory(in: directory)
        var setup = GatewaySetup(directory: home.path, backendPort: backendPort)
        setup.loops = 1
        try await dimension.prepare(&setup, size: size)
        gateway = try GatewayProcess(program, setup)
        self.connections = connections
        self.loop = loop
        calls = try dimension.calls(setup, size: size)
        if let filling = try dimension.filling(setup, size: size) {
            let load = try await ClosedLoad(connections: connections, port: gateway.port, on: loop)
            try await load.run(filling.count, filling.request)
            load.close()
            try await gateway.waitUntilIdle(for: .seconds(62))
        } else {
            try await gateway.waitUntilIdle()
        }
    }

    /// Returns the gateway's processor time per call in microseconds.
    func measure(_ call: Int, for time: TimeAmount) async throws -> Double {
        // Open new connections each time, because the gateway may have closed the previous ones as idle.
        let load = try await ClosedLoad(connections: connections, port: gateway.port, on: loop)
        defer { load.close() }
        // The first calls fill the credential caches and open the backend connections.
        _ = try await load.run(calls[call].requests, for: .milliseconds(500))
        let before = gateway.processorTime
        let count = try await load.run(calls[call].requests, for: time)
        guard count > 0 else { throw NothingCarriedOut() }
        return (gateway.processorTime - before).inSeconds * 1e6 / Double(count)
    }

    func stop() { gateway.stop() }

    private struct NothingCarriedOut: Error {}
}

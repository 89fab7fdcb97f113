import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import OutboundHTTP

@testable import TraceExport

/// An export with a clock that its waits advance.
final class TraceExportFixture: Sendable {
    let clock = ManualClock()
    let export: TraceExport
    /// The waits between attempts, in order.
    let waits = AwaitableValue<[Duration]>([])
    /// The number of times that the export has looked at the queue in vain.
    private let polls = AwaitableValue(0)
    /// Raised when a stop has begun to wait for the end of its grace.
    let stopping = Signal()
    /// Ends the grace of a stop.
    let graceEnds = Signal()

    /// Creates an export that is turned off.
    ///
    /// - Parameter waitsForStop: whether waits between attempts last until the export is stopped.
    init(waitsForStop: Bool = false) {
        let (clock, waits, polls, stopping, graceEnds) = (clock, waits, polls, stopping, graceEnds)
        let timing = DeliveryTiming(
            clocks: clock.clocks,
            sleep: { duration in
                if duration == TraceExport.pollInterval {
                    // Each look is a second later than the one before, so that a batch becomes due.
                    clock.advance(by: .seconds(1))
                    polls.withLock { $0 += 1 }
                    try await Task.sleep(for: .milliseconds(1))
                } else if duration == TraceExport.stopGrace {
                    stopping.raise()
                    await graceEnds.wait()
                } else {
                    waits.withLock { $0.append(duration) }
                    if waitsForStop { await Signal().wait() }
                }
                try Task.checkCancellation()
            }, jitter: { 1 })
        export = TraceExport(
            version: "0.1.0", timing: timing, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// A collector that accepts everything.
    static let accepts: @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step] = { _ in
        [.write(ScriptedServer.ok("{}"))]
    }

    /// Runs the body with an export to a collector, and stops it.
    static func run(
        waitsForStop: Bool = false, _ script: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step],
        _ body: (TraceExportFixture, ScriptedServer) async throws -> Void
    ) async throws {
        try await ScriptedServer.run(script) { server in
            let fixture = TraceExportFixture(waitsForStop: waitsForStop)
            await fixture.export.apply(try settings(server.port))
            try await body(fixture, server)
            fixture.graceEnds.raise()
            await fixture.export.stop()
        }
    }

    /// Returns settings for a collector on this port of 127.0.0.1.
    static func settings(
        _ port: Int, scheme: String = "http", host: String = "127.0.0.1", authority: String? = nil,
        headers: [TraceExportSettings.Header] = []
    ) throws -> TraceExportSettings {
        TraceExportSettings(
            endpoint: try EndpointURL("\(scheme)://\(host):\(port)/v1/traces"), authority: authority, headers: headers)
    }

    /// Records calls with this many spans each.
    func record(_ calls: Int, spans: Int = 3) {
        for number in 0..<calls {
            let call = CallID(process: 7, number: UInt64(number + 1))
            export.queue.record(
                CallSpans(
                    trace: TraceContext(of: call), call: call,
                    spans: (0..<spans).map {
                        TraceSpan(id: UInt64($0 + 1), parent: 0, start: 1, end: 2, subject: .phase("limit"))
                    }))
        }
    }

    /// The number of spans that were dropped for the reason.
    func drops(_ reason: TraceExportMetrics.DropReason) -> UInt64 {
        export.metrics.drops.first { $0.reason == reason }?.count ?? 0
    }

    /// Returns once the export has nothing in hand and looks at the queue again.
    func untilIdle() async {
        let seen = polls.current
        await polls.wait { $0 >= seen + 7 }
    }
}

/// The number of spans in a request.
func spanCount(_ request: ScriptedServer.Request) -> Int {
    String(decoding: request.body, as: UTF8.self).components(separatedBy: #""spanId""#).count - 1
}

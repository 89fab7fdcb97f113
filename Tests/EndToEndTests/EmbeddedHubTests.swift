import Foundation
import Gateway
import GatewayCore
import GatewayStore
import GatewayTesting
import Synchronization
import Testing

@testable import NotifyBackend

/// The request pipeline and the ledger in front of the embedded hub, without sockets.
@Suite("Calls and the embedded hub", .timeLimit(.minutes(5))) struct EmbeddedHubTests {
    private static let notify = "POST /api/notifications?pns=apns&to_tag=bob"

    @Test("A text of any characters arrives whole, up to the platform's limit; a byte more is 413")
    func texts() async throws {
        let setup = try EmbeddedHubSetup()
        for (pns, word, limit) in [("apns", "apns", 4096), ("gcm", "fcmv1", 4096), ("wns", "wns", 5120)] {
            #expect((try await setup.register(pns, id: "1-2-3")).status / 100 == 2)
            let handle = try #require(EmbeddedHubSetup.handles[pns])
            func send(_ text: String) async throws -> Int {
                let body = try JSONSerialization.data(withJSONObject: text, options: .fragmentsAllowed)
                return try await setup.call(
                    "POST /api/notifications?pns=\(pns)&to_tag=bob", as: "alice", String(decoding: body, as: UTF8.self)
                ).status
            }
            for text in [
                "say \"hi\" \\ 'x'", "<b>&amp;]]></b>", "😀👩‍👩‍👧‍👦 \u{80}\u{85}\u{9F}", "\u{2028}\u{2029}\t\n",
                "{sender}{message}", "ü",
            ] {
                #expect(try await send(text) == 200)
                let payload = try #require(setup.hub.inbox(ofHandle: handle).last?.payload)
                #expect(DevicePayload.text(in: payload) == "From alice: \(text)", "\(word) \(payload)")
            }
            let frame = try #require(setup.hub.inbox(ofHandle: handle).last?.payload.utf8.count) - "ü".utf8.count
            for filler in ["x", "\u{85}", "\u{1F600}"] {
                let count = (limit - frame) / filler.utf8.count
                let rest = limit - frame - count * filler.utf8.count
                let text = String(repeating: filler, count: count) + String(repeating: "y", count: rest)
                #expect(try await send(text) == 200)
                let payload = try #require(setup.hub.inbox(ofHandle: handle).last?.payload)
                #expect(payload.utf8.count == limit && DevicePayload.text(in: payload) == "From alice: \(text)")
                let count413 = setup.hub.inbox(ofHandle: handle).count
                #expect(try await send(text + "z") == 413)
                #expect(setup.hub.inbox(ofHandle: handle).count == count413)
            }
        }
    }

    @Test("No call fails while signatures expire and are renewed under load")
    func renewal() async throws {
        let setup = try EmbeddedHubSetup()
        #expect(try await setup.register("apns", id: "1-2-3").status == 200)
        // Five hours; a signature is valid for one.
        for _ in 0..<200 {
            setup.clock.advance(by: .seconds(90))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { calls in
                for _ in 0..<8 { calls.addTask { try await setup.call(Self.notify, as: "alice", "\"hi\"").status } }
                return try await calls.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 8))
        }
    }

    @Test("While the hub throttles for a minute it gets one send for each pause, and registrations go on")
    func throttling() async throws {
        let setup = try EmbeddedHubSetup()
        #expect(try await setup.register("apns", id: "1-2-3").status == 200)
        setup.hub.inject(.sendBusy, times: 1000)
        var accepted = 0
        func send() async throws -> Int {
            let response = try await setup.call(Self.notify, as: "alice", "\"hi\"")
            if response.status == 200 { accepted += 1 } else { #expect(response.values("Retry-After").count == 1) }
            return response.status
        }
        for _ in 0..<60 {
            for _ in 0..<5 { #expect(try await send() == 503) }
            #expect(try await setup.register("apns", id: "1-2-3").status == 200)
            setup.clock.advance(by: .seconds(1))
        }
        let asked = setup.requests.withLock { $0.count { $0.hasPrefix("POST /demo/messages") } }
        #expect((6...7).contains(asked), "\(asked)")
        setup.hub.removeFaults()
        setup.clock.advance(by: .seconds(10))
        for _ in 0..<5 { #expect(try await send() == 200) }
        #expect(setup.hub.inbox(ofHandle: try #require(EmbeddedHubSetup.handles["apns"])).count == accepted)
        #expect(setup.journal.records(.outcome).count { $0.result == "overloaded" } == asked)
    }

    /// What a device and a sender do. Each call that fails is repeated once. Returns the status of each first attempt.
    private func useService(_ setup: EmbeddedHubSetup) async throws -> [Int] {
        var statuses: [Int] = []
        func attempt(_ call: () async throws -> Response) async throws -> Response {
            let first = try await call()
            statuses.append(first.status)
            return first.status / 100 == 2 ? first : try await call()
        }
        let handle = try #require(EmbeddedHubSetup.handles["apns"])
        func create() async throws -> String {
            let response = try await attempt { try await setup.call("POST /api/register?handle=\(handle)", as: "bob") }
            #expect(response.status == 200)
            return response.text.filter { $0 != "\"" }
        }
        var id = try await create()
        for round in 0..<2 {
            let label = id
            #expect(try await attempt { try await setup.register("apns", id: label) }.status == 200)
            // A send is not repeated: its fate may be unknown.
            let sent = try await setup.call(Self.notify, as: "alice", "\"hi\"")
            statuses.append(sent.status)
            #expect(try await attempt { try await setup.register("apns", id: label) }.status == 200)
            if round == 0 {
                #expect(
                    try await attempt { try await setup.call("DELETE /api/register/\(label)", as: "bob") }.status == 200
                )
                id = try await create()
            }
        }
        return statuses
    }

    @Test(
        "410 and a cut response at any request leave ledger and hub in agreement and send nothing twice",
        arguments: EmbeddedHubSetup.Fault.allCases)
    func faultAtEachStep(_ fault: EmbeddedHubSetup.Fault) async throws {
        let undisturbed = try EmbeddedHubSetup()
        let calls = try await useService(undisturbed)
        #expect(calls.allSatisfy { $0 == 200 })
        let steps = undisturbed.requests.withLock { $0 }
        for (index, step) in steps.enumerated() {
            let setup = try EmbeddedHubSetup()
            setup.fault.withLock { $0 = (index, fault) }
            let statuses = try await useService(setup)
            let isHealed = fault == .gone && (step.hasPrefix("PUT") || step.hasPrefix("DELETE"))
            let failed = statuses.filter { $0 != 200 }
            #expect(failed == (isHealed ? [] : [502]), "\(fault) at \(step): \(statuses)")
            try await setup.sweep()
            let registrations = try await setup.ledger.allRegistrations().filter { $0.state != .reserved }
            #expect(registrations.map(\.state) == [.live], "\(fault) at \(step)")
            #expect(registrations.map(\.id.text) == setup.hub.registrations().map(\.id), "\(fault) at \(step)")
            #expect(setup.hub.registrations().map(\.tags) == [["username:bob"]])
            let sends = setup.requests.withLock { $0.count { $0.hasPrefix("POST /demo/messages") } }
            #expect(sends == 2)
            let delivered = setup.hub.inbox(ofHandle: try #require(EmbeddedHubSetup.handles["apns"])).count
            #expect(delivered == (fault == .gone && step.hasSuffix("messages") ? 1 : 2), "\(fault) at \(step)")
        }
    }
}

import Foundation
import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import NIOCore
import Synchronization
import Testing

@testable import NotifyBackend

/// A gateway with its ledger, in front of a hub.
final class EmbeddedHubSetup: Sendable {
    /// A fault of one request to the hub.
    enum Fault: CaseIterable {
        /// The hub responds with 410. A registration that the request names has expired before.
        case gone
        /// The hub carries out the request, and its response is cut.
        case cut
    }

    /// The handle of bob's device, by platform.
    static let handles = [
        "apns": String(repeating: "B0", count: 32), "gcm": "bobs-android-token-0001",
        "wns": "https://db5.notify.windows.com/?token=bobs",
    ]

    let clock = ManualClock()
    let hub: NotificationHub
    let journal: MemoryJournal
    let ledger: StoredLedger
    let texts: StoredSecureTexts
    private let directory: TestFiles
    /// The requests to the hub, and the fault of one of them.
    let requests = Mutex<[String]>([])
    let fault = Mutex<(index: Int, fault: Fault)?>(nil)
    private let gateway = Mutex<Gateway?>(nil)

    /// - Parameter secure: The rules of secure sends; nil for none.
    init(secure: SecureSendRules? = nil) throws {
        directory = try TestFiles()
        let timeline = Timeline()
        hub = NotificationHub(now: { [clock] in Self.date(of: clock) })
        journal = MemoryJournal(timeline: timeline)
        ledger = try StoredLedger(file: directory.path + "/ledger.sqlite")
        texts = try StoredSecureTexts(file: directory.path + "/ledger.sqlite.texts")
        var rules = TestGateway.rules(clock: clock)
        rules.secureSends = secure
        rules.upstreams[0].hub = HubSettings(
            connection: try HubConnectionString(TestUpstream.connectionString(port: 80)), name: "demo")
        rules.upstreams[0].backend = .hub
        rules.limiter = Limiter([], clocks: clock.clocks)
        let backend = ScriptedBackend(timeline: timeline) { [unowned self] in respond(to: $0) }
        let made = Gateway(
            rules: rules,
            dependencies: TestGateway.dependencies(
                clock: clock, ledger: ledger, journal: journal, texts: texts, backend: backend))
        gateway.withLock { $0 = made }
    }

    private static func date(of clock: ManualClock) -> Date {
        Date(timeIntervalSince1970: Double(clock.clocks.wall().microseconds) / 1_000_000)
    }

    private func respond(to seen: CapturedRequest) -> BackendResult {
        var api = HubAPI(access: TestUpstream.access, hub: hub)
        api.now = { [clock] in Self.date(of: clock) }
        let index = requests.withLock { requests in
            requests.append("\(seen.method) \(seen.target.prefix { $0 != "?" })")
            return requests.count - 1
        }
        let fault = fault.withLock { $0?.index == index ? $0?.fault : nil }
        if fault == .gone {
            hub.expire(registration: String(seen.target.prefix { $0 != "?" }.split(separator: "/").last ?? ""))
            return .status(410, "<Error><Code>410</Code><Detail>gone</Detail></Error>")
        }
        let fields = Dictionary(seen.fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        let response = api.response(
            to: BackendRequest(
                method: seen.method, target: seen.target, host: fields["host"] ?? "",
                authorization: fields["authorization"], contentType: fields["content-type"], body: seen.body,
                fields: fields))
        if fault == .cut { return .broken("the response was cut") }
        return .responded(
            .init(
                status: response.status, body: .init(string: response.body),
                location: response.fields["Location"],
                retryAfter: response.fields["Retry-After"].flatMap { Int($0) }))
    }

    /// Serves a call of the user.
    func call(
        _ line: String, as user: String, _ body: String = "", key: String? = nil
    ) async throws -> Response {
        let credential = Data("\(user):\(TestGateway.password(of: user))".utf8).base64EncodedString()
        return await (try #require(gateway.withLock { $0 })).serve(
            ReceivedRequest(
                line, authorization: .text("Basic \(credential)"),
                contentType: body.isEmpty ? .absent : .text("application/json"),
                idempotencyKey: key.map { .text($0) } ?? .absent, body: Array(body.utf8)))
    }

    /// Registers the device of bob under the id. A client retries a call that fails.
    func register(_ pns: String, id: String, tags: String = "") async throws -> Response {
        let handle = try #require(Self.handles[pns])
        return try await call(
            "PUT /api/register/\(id)", as: "bob", #"{"Platform":"\#(pns)","Handle":"\#(handle)","Tags":[]}"#)
    }

    /// Deletes what the ledger has marked, as the sweeper does.
    func sweep() async throws {
        for id in try await ledger.pendingDeletion(limit: 100) {
            let gateway = try #require(gateway.withLock { $0 })
            #expect(await gateway.sweep(id, as: CallID(process: 1, number: 1)))
        }
    }
}

import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Synchronization
import Testing

@testable import Gateway
@testable import GatewayStore

/// A gateway with a real ledger before a backend that is called in the process.
final class ModelGateway {
    let clock = ManualClock()
    let journal = ModelJournal()
    let ledger: StoredLedger
    private let gateway: Gateway
    private let sessions: SessionRegister
    private let directory = FileManager.default.temporaryDirectory.appending(path: "model-\(UUID().uuidString)")
    private var calls: UInt64 = 0

    static let users = TestGateway.users
    static let key = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLi4uLi4="
    static let hubHost = "127.0.0.1:5600"

    /// Creates a gateway in front of a hub, or of a classic backend.
    init(isHub: Bool, _ answer: @escaping @Sendable (CapturedRequest) -> ModelBackend.Answer) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var limits = StoredLedger.Limits()
        limits.ownershipTransfers = .max
        ledger = try StoredLedger(
            file: directory.appending(path: "ledger.sqlite").path(percentEncoded: false), limits: limits,
            now: clock.clocks.wall(), proofLifetime: .seconds(1_000_000_000))
        sessions = try SessionRegister(ledger, clocks: clock.clocks)
        var rules = TestGateway.rules(.classic, clock: clock)
        rules.limiter = Limiter([], clocks: clock.clocks)
        if isHub {
            let text = "Endpoint=sb://\(Self.hubHost)/;SharedAccessKeyName=ListenSend;SharedAccessKey=\(Self.key)"
            rules.upstreams[0].hub = HubSettings(connection: try HubConnectionString(text), name: "news")
            rules.upstreams[0].backend = .hub
        }
        var dependencies = TestGateway.dependencies(
            clock: clock, ledger: ledger, sessions: sessions, journal: journal,
            backend: ModelBackend(journal: journal, answer: answer))
        dependencies.randomness = { .random(in: .min ... .max) }
        gateway = Gateway(rules: rules, dependencies: dependencies)
    }

    deinit {
        try? ledger.close()
        try? FileManager.default.removeItem(at: directory)
    }

    func serve(_ line: String, as user: String, json body: String? = nil) async -> (status: Int, text: String) {
        calls += 1
        let request =
            body.map { ReceivedRequest(line, as: user, json: $0, number: calls) }
            ?? ReceivedRequest(line, as: user, number: calls)
        let response = await gateway.serve(request)
        return (response.status, response.text)
    }

    /// Ends all access of the user, as `tokens revoke --user` does.
    func revoke(_ user: String) async throws {
        try await sessions.revoke(try #require(UserName(canonical: user)))
    }

    /// Deletes what is marked for deletion. Returns what could not be deleted.
    func sweep() async throws -> [RegistrationID] {
        for _ in 0..<5 {
            for id in try await ledger.pendingDeletion(limit: 1000) {
                calls += 1
                _ = await gateway.sweep(id, as: CallID(process: 0xDE1E7E, number: calls))
            }
            // A deletion is repeated for as long as a late update could undo it.
            clock.advance(by: .seconds(400))
        }
        return try await ledger.pendingDeletion(limit: 1000)
    }

    /// The owners of all registrations in the ledger but reservations, by id.
    func owners() async throws -> [String: String] {
        try await ledger.allRegistrations(limit: 100_000).filter { $0.state != .reserved }
            .reduce(into: [:]) { $0[$1.id.text] = $1.state == .live ? $1.owner.text : "\($1.owner.text) \($1.state)" }
    }
}

/// A backend that responds in the process, or fails as the test decides.
final class ModelBackend: Backend {
    /// A response, or a failure of the connection before or after the request had its effect.
    enum Answer: Sendable {
        case response(status: Int, body: String, location: String?)
        case unreachable, lost
    }

    private let journal: ModelJournal
    private let answer: @Sendable (CapturedRequest) -> Answer

    init(journal: ModelJournal, answer: @escaping @Sendable (CapturedRequest) -> Answer) {
        self.journal = journal
        self.answer = answer
    }

    func exchange(_ request: borrowing RecordedRequest) async -> BackendResult {
        guard let captured = CapturedRequest(request.bytes) else { return .broken("not a request") }
        if captured.method == "DELETE" { journal.checkIntent(ofDeletion: captured.target, request.id) }
        switch answer(captured) {
        case .unreachable: return .unreachable("scripted")
        case .lost: return .broken("scripted")
        case .response(let status, let body, let location):
            return .responded(BackendResponse(status: status, body: ByteBuffer(string: body), location: location))
        }
    }
}

/// A journal that keeps the last change of each registration.
final class ModelJournal: Journal {
    private struct State {
        var owners: [String: String] = [:]
        var intents: [CallID: String] = [:]
        var rules: [String: Int] = [:]
        var unrecorded: [String] = []
    }

    private let state = Mutex(State())

    /// The owner of each registration that the backend has according to the journal.
    var owners: [String: String] { state.withLock(\.owners) }
    /// The numbers of deletions by rule.
    var rules: [String: Int] { state.withLock(\.rules) }
    /// The deletions that no intent preceded.
    var unrecorded: [String] { state.withLock(\.unrecorded) }

    func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        state.withLock { state in
            for record in records where record.facts?.action == .registerDelete {
                guard let facts = record.facts, let id = facts.registration else { continue }
                state.intents[facts.call] = id.text
                state.rules[facts.rule ?? "-", default: 0] += 1
            }
        }
    }

    func append(_ record: JournalRecord) {
        guard record.kind == .outcome, let facts = record.facts, let id = facts.registration?.text,
            let result = record.result.flatMap(CallResult.init)
        else { return }
        let succeeded: Set<CallResult> = [.accepted, .adopted, .healed, .revoked, .neutralised]
        state.withLock { state in
            switch facts.action {
            case .registerUpdate, .ownershipTransfer:
                if succeeded.contains(result) { state.owners[id] = facts.user?.text }
            case .registerDelete:
                state.intents[facts.call] = nil
                if succeeded.contains(result) { state.owners[id] = nil }
            default: break
            }
        }
    }

    func checkIntent(ofDeletion target: String, _ call: CallID) {
        state.withLock { state in
            let id = target.split(separator: "?")[0].split(separator: "/").last.map(String.init)
            if state.intents[call] != id { state.unrecorded.append(target) }
        }
    }
}

import Foundation
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import NotifyBackend

/// Random sequences of registrations, deletions, revocations and faults, with clients that use the hub beside the gateway.
@Suite("Hub, ledger and journal agree", .serialized)
struct RegistrationModelTests {
    @Test(
        "After any sequence, a device that registers has one registration, for its user, in all three",
        arguments: [true, false])
    func agreement(isHub: Bool) async throws {
        let model = try RegistrationModel(isHub: isHub, seed: isHub ? 7 : 8)
        for number in 0..<TestRun.count(full: 10_000, otherwise: 100) {
            try await model.runSequence()
            let faults = try await model.check()
            #expect(faults.isEmpty, "sequence \(number): \(faults)\n\(model.log.joined(separator: "\n"))")
            if !faults.isEmpty { return }
        }
        #expect(!isHub || model.gateway.journal.rules["superseded"] ?? 0 > 10)
    }
}

/// The hub, the gateway, and what the test has done to both.
private final class RegistrationModel {
    let gateway: ModelGateway
    private let hub: NotificationHub
    private let isHub: Bool
    private let faults = ModelFaults()
    /// Carries out a request at the backend.
    private let perform: @Sendable (CapturedRequest) -> BackendResponse
    /// The registrations of the ledger that deletions without a response have removed afterwards.
    private var removedLate: [String] = []
    private var random: SplitMix
    /// The id that each user's app on each device uses.
    private var labels: [String: String] = [:]
    /// The handles whose registrations somebody changed beside the gateway since their device has registered.
    private var touched: Set<String> = []
    /// The user who has each device.
    private var holders: [String: String] = [:]
    /// The registrations of other apps, which nothing may touch.
    private var installations: [Registration] = []
    private var fresh = 0
    /// The steps of the present sequence.
    private(set) var log: [String] = []

    private static let handles = (1...5).map { String(repeating: "A", count: 62) + "\($0 + 10)" }

    init(isHub: Bool, seed: UInt64) throws {
        self.isHub = isHub
        random = SplitMix(seed: seed)
        let hub = NotificationHub()
        self.hub = hub
        let faults = self.faults
        let interface: BackendInterface
        if isHub {
            let policy = HubAccess.Policy(
                name: "ListenSend", key: Secret(ModelGateway.key.utf8), rights: [.listen, .send])
            interface = .hub(
                HubAPI(
                    access: HubAccess(hub: "news", policies: [policy]), hub: hub,
                    now: { Date(timeIntervalSince1970: 1_795_000_000) }))
        } else {
            interface = .notifyUsers(NotifyUsersAPI(flavor: .classic, hub: hub))
        }
        let perform: @Sendable (CapturedRequest) -> BackendResponse = { request in
            interface.response(
                to: BackendRequest(
                    method: request.method, target: request.target, host: request.values("Host").first ?? "",
                    authorization: request.values("Authorization").first,
                    contentType: request.values("Content-Type").first, accept: request.values("Accept").first,
                    body: request.body,
                    fields: Dictionary(request.fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }))
        }
        self.perform = perform
        gateway = try ModelGateway(isHub: isHub) { request in
            let fault = faults.next()
            if fault == .unreachable { return .unreachable }
            if fault == .late, request.method == "DELETE" { faults.delay(request) }
            if fault == .lostBefore || fault == .late { return .lost }
            if fault == .failed { return .response(status: 500, body: "", location: nil) }
            let response = perform(request)
            if fault == .lostAfter { return .lost }
            return .response(status: response.status, body: response.body, location: response.fields["Location"])
        }
    }

    private func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    private func newID() -> String {
        fresh += 1
        return "9\(fresh)-7-1"
    }

    // MARK: Steps

    func runSequence() async throws {
        log = []
        for _ in 0..<Int.random(in: 1...12, using: &random) { try await runStep() }
    }

    private func runStep() async throws {
        if Int.random(in: 0..<3, using: &random) == 0 { try await carryOutLateDeletions() }
        let (user, handle) = (pick(ModelGateway.users), pick(Self.handles))
        if Int.random(in: 0..<4, using: &random) == 0 {
            let fault = pick(ModelFaults.Fault.allCases)
            let delay = Int.random(in: 0..<3, using: &random)
            faults.set(fault, delay: delay)
            log.append("fault \(fault) after \(delay)")
        }
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: await create(user, handle)
        case 2, 3, 4: await update(user, handle)
        case 5:
            await create(user, handle)
            await update(user, handle)
        case 6: await delete(user, handle)
        case 7:
            try await gateway.revoke(user)
            log.append("revoke \(user)")
        case 8: _ = try await gateway.sweep()
        default: try changeBeside(user, handle)
        }
        faults.set(nil)
    }

    /// Carries out the deletions that the gateway has had no response to.
    private func carryOutLateDeletions() async throws {
        for request in faults.takeLate() {
            let (before, owners) = (Set(hub.registrations().map(\.id)), try await gateway.owners())
            _ = perform(request)
            let removed = before.subtracting(hub.registrations().map(\.id))
            log.append("late: \(request.target) removed \(removed)")
            // The ledger says of these that they are registered.
            removedLate += removed.filter { owners[$0]?.contains(" ") == false }
        }
    }

    private func create(_ user: String, _ handle: String) async {
        let response = await gateway.serve("POST /api/register?handle=\(handle)", as: user)
        log.append("create \(user) \(handle.suffix(2)): \(response.status) \(response.text)")
        if response.status == 200 { labels["\(user) \(handle)"] = response.text.filter { $0 != "\"" } }
    }

    private func update(_ user: String, _ handle: String) async {
        // Sometimes the app has the id of another device of the user, as after a rotation of the token.
        let other = Int.random(in: 0..<6, using: &random) == 0 ? pick(Self.handles) : handle
        let label = labels["\(user) \(other)"] ?? labels["\(user) \(handle)"] ?? newID()
        let response = await gateway.serve(
            "PUT /api/register/\(label)", as: user, json: #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#)
        log.append("put \(user) \(handle.suffix(2)) \(label): \(response.status)")
        guard response.status == 200 else { return }
        holders[handle] = user
        if isHub { touched.remove(handle) }
    }

    private func delete(_ user: String, _ handle: String) async {
        guard let label = labels["\(user) \(handle)"] else { return }
        let response = await gateway.serve("DELETE /api/register/\(label)", as: user)
        log.append("delete \(user) \(label): \(response.status)")
    }

    /// Changes the hub as another backend with its key, or the hub itself, does.
    private func changeBeside(_ user: String, _ handle: String) throws {
        let own = hub.registrations().filter { found in !installations.contains { $0.id == found.id } }
        let found = own.isEmpty ? nil : pick(own)
        switch (Int.random(in: 0..<7, using: &random), found) {
        case (0, let found?):
            try hub.delete(id: found.id)
            log.append("beside: delete \(found.id)")
            touched.insert(found.handle)
        case (1, let found?):
            hub.expire(registration: found.id)
            log.append("beside: expire \(found.id)")
            touched.insert(found.handle)
        case (2, let found?):
            try hub.upsert(id: found.id, platform: "apns", handle: found.handle, tags: ["username:\(user)"])
            log.append("beside: give \(found.id) to \(user)")
            touched.insert(found.handle)
        case (3, let found?):
            try hub.upsert(id: found.id, platform: "apns", handle: handle, tags: found.tags)
            log.append("beside: move \(found.id) to \(handle.suffix(2))")
            touched.formUnion([found.handle, handle])
        case (4, _) where isHub && installations.count < 20:
            let id = newID()
            let tags = ["username:\(user)", "$InstallationId:{\(id)}"]
            installations.append(try hub.upsert(id: id, platform: "apns", handle: handle, tags: tags))
            log.append("beside: installation \(id) \(handle.suffix(2))")
        default:
            let id = newID()
            try hub.upsert(id: id, platform: "apns", handle: handle, tags: ["username:\(user)"])
            log.append("beside: register \(user) \(handle.suffix(2)) \(id)")
            touched.insert(handle)
        }
    }

    // MARK: Checks

    /// Deletes what is left to delete and compares hub, ledger and journal: at once, of the devices that only used the
    /// gateway, and completely after every device has registered again.
    func check() async throws -> [String] {
        log.append("check")
        try await carryOutLateDeletions()
        var faults = try await remaining() + removedLate.map { "a late deletion removed \($0)" }
        let touchedBefore = touched
        var ledger = try await gateway.owners()
        for (id, handle, owner) in hubOwners() where !touchedBefore.contains(handle) && ledger[id] != owner {
            // The ledger knows that an update may have had an effect.
            if ledger[id]?.hasSuffix(" unknown") == true { continue }
            faults.append("hub has \(id) for \(owner) of \(handle.suffix(2)), ledger \(ledger[id] ?? "nothing")")
        }
        guard faults.isEmpty else { return faults }
        // The devices register again, some of them for another user.
        for handle in Self.handles {
            let holder = Int.random(in: 0..<4, using: &random) == 0 ? nil : holders[handle]
            let user = holder ?? pick(ModelGateway.users)
            if !isHub || Bool.random(using: &random) { await create(user, handle) }
            await update(user, handle)
            let found = hubOwners().filter { $0.handle == handle }
            if isHub, found.map(\.owner) != [user] { faults.append("after the update of \(user): \(found)") }
        }
        if !isHub {
            // A backend deletes others when it is asked for an id; what was moved to a device is then moved back.
            for handle in Self.handles {
                let user = try #require(holders[handle])
                await create(user, handle)
                await update(user, handle)
            }
        }
        touched = []
        faults += try await remaining()
        ledger = try await gateway.owners()
        let found = Dictionary(hubOwners().map { ($0.id, $0.owner) }) { first, _ in first }
        if !isHub { ledger = ledger.filter { found[$0.key] != nil || !$0.value.hasSuffix(" deleting") } }
        if found != ledger { faults.append("hub \(found)\nledger \(ledger)") }
        let journal = gateway.journal.owners
        for (id, owner) in found where journal[id] != owner { faults.append("journal: \(id) \(journal[id] ?? "-")") }
        if Set(hubOwners().map(\.handle)).count != found.count { faults.append("a handle twice: \(hubOwners())") }
        if !gateway.journal.unrecorded.isEmpty { faults.append("unrecorded: \(gateway.journal.unrecorded)") }
        let left = hub.registrations().filter { found in installations.contains { $0.id == found.id } }
        if left != installations { faults.append("installations changed: \(left)") }
        return faults
    }

    /// Deletes what is marked for deletion. Returns what the hub still has.
    ///
    /// A classic backend responds 500 to each request about a registration that the hub no longer has, so the gateway cannot
    /// know that it is gone and tries again.
    private func remaining() async throws -> [String] {
        let left = try await gateway.sweep()
        let ids = Set(hub.registrations().map(\.id))
        return left.filter { isHub || ids.contains("\($0)") }.map { "cannot be deleted: \($0)" }
    }

    /// The registrations of users at the hub. Those of nobody, which neutralise others, deliver to no device.
    private func hubOwners() -> [(id: String, handle: String, owner: String)] {
        hub.registrations().filter { found in
            Self.handles.contains(found.handle) && !installations.contains { $0.id == found.id }
        }.map { found in
            (found.id, found.handle, found.tags.map { $0.replacing("username:", with: "") }.joined(separator: "+"))
        }
    }
}

/// The next fault of the backend.
private final class ModelFaults: Sendable {
    enum Fault: CaseIterable {
        case unreachable, lostBefore, lostAfter, failed
        /// There is no response, and the backend carries the request out later if it is a deletion.
        case late
    }

    private let late = Mutex<[CapturedRequest]>([])

    func delay(_ request: CapturedRequest) { late.withLock { $0.append(request) } }

    /// Returns the deletions that the backend has yet to carry out.
    func takeLate() -> [CapturedRequest] {
        late.withLock { late in
            defer { late = [] }
            return late
        }
    }

    /// The fault, and the number of requests before it.
    private let pending = Mutex<(fault: Fault, delay: Int)?>(nil)

    func set(_ fault: Fault?, delay: Int = 0) { pending.withLock { $0 = fault.map { ($0, delay) } } }

    func next() -> Fault? {
        pending.withLock { pending in
            guard let (fault, delay) = pending else { return nil }
            pending = delay == 0 ? nil : (fault, delay - 1)
            return delay == 0 ? fault : nil
        }
    }
}

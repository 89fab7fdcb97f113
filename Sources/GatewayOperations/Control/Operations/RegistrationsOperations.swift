internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `registrations list`: lists the device registrations and their owners, of all users or of one.
struct ListRegistrationsOperation: ControlOperation {
    static let name = "registrations list"
    static let arguments: Set<String> = ["user"]

    let ledger: SQLiteLedger
    let names: NameRules

    private static let page = 1000

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        if let user = try arguments.user("user", by: names) {
            for registration in try await withLedger({ () async throws(LedgerUnavailable) in
                try await ledger.registrations(of: user)
            }) {
                try await send(registration, in: context)
            }
            return
        }
        var last: RegistrationID?
        var count = Self.page
        while count == Self.page {
            let after = last
            let registrations = try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.allRegistrations(after: after, limit: Self.page)
            }
            for registration in registrations where registration.state != .reserved {
                try await send(registration, in: context)
            }
            count = registrations.count
            last = registrations.last?.id
        }
    }

    private func send(_ registration: OwnedRegistration, in context: ControlContext) async throws(ControlError) {
        let isUnconfirmed = registration.unconfirmedSince != nil && registration.state == .live
        var members: [JSONValue.Member] = [
            .init("registration", .string(registration.id.text)), .init("user", .string(registration.owner.text)),
        ]
        if let service = registration.service { members.append(.init("platform", .string(service.rawValue))) }
        if let upstream = registration.upstream { members.append(.init("backend", .string(upstream.text))) }
        members += [
            .init("state", .string(isUnconfirmed ? "unconfirmed" : registration.state.rawValue)),
            .init("created", .string(registration.created.description)),
            .init("last_seen", .string(registration.lastSeen.description)),
            .init("hand_overs", .number(String(registration.ownershipTransfers))),
        ]
        if isUnconfirmed, let end = ledger.confirmationEnd(registration) {
            members.append(.init("confirm_until", .string(end.description)))
        }
        try await context.send(.object(members))
    }
}

/// `registrations revoke`: deletes one registration at the backend. The device may register again.
struct RevokeRegistrationOperation: ControlOperation {
    static let name = "registrations revoke"
    static let arguments: Set<String> = ["registration"]

    let ledger: SQLiteLedger
    let sweeper: RegistrationSweeper

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let id = try arguments.text("registration").flatMap(RegistrationID.init) else {
            throw .malformed("registration must be a registration's id.")
        }
        guard
            let owner = try await withLedger({ () async throws(LedgerUnavailable) in try await ledger.owner(of: id) })
        else { throw .refused("There is no such registration.") }
        let record = try await context.record(.operatorRevokeRegistration, user: owner, target: id.text)
        do throws(ControlError) {
            _ = try await withLedger { () async throws(LedgerUnavailable) in try await ledger.revoke(id) }
        } catch {
            record.failed()
            throw error
        }
        sweeper.wake()
    }
}

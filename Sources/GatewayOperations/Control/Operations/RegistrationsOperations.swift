internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `registrations list`: lists the device registrations and their owners, of all users or of one.
struct ListRegistrationsOperation: ControlOperation {
    static let name = "registrations list"
    static let arguments: Set<String> = ["user"]

    let ledger: StoredLedger
    let names: NameRules

    private static let page = 1000

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        if let user = try arguments.user("user", by: names) {
            let registrations = try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.registrations(of: user)
            }
            return try await context.send(pageOf: registrations.map(ledger.item))
        }
        var last = try position(context.page)
        var left = context.page?.limit ?? .max
        while left > 0 {
            let (after, limit) = (last, min(left, Self.page))
            let registrations = try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.allRegistrations(after: after, limit: limit)
            }
            for registration in registrations where registration.state != .reserved {
                try await context.send(ledger.item(registration))
                left -= 1
            }
            guard registrations.count == limit else { return }
            last = registrations.last?.id
        }
        if let last { try await context.output(.next(last.text)) }
    }

    /// Returns the id after which the page starts; nil for the first page.
    private func position(_ page: ControlPage?) throws(ControlError) -> RegistrationID? {
        guard let after = page?.after else { return nil }
        guard let id = RegistrationID(after) else { throw .malformed("cursor is not one of this list.") }
        return id
    }
}

extension StoredLedger {
    /// Returns the registration as one result.
    func item(_ registration: OwnedRegistration) -> JSONValue {
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
        if isUnconfirmed, let end = confirmationEnd(registration) {
            members.append(.init("confirm_until", .string(end.description)))
        }
        return .object(members)
    }
}

/// `registrations revoke`: deletes one registration at the backend. The device may register again.
struct RevokeRegistrationOperation: ControlOperation {
    static let name = "registrations revoke"
    static let arguments: Set<String> = ["registration"]

    let ledger: StoredLedger
    let sweeper: RegistrationSweeper

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let id = try arguments.text("registration").flatMap(RegistrationID.init) else {
            throw .malformed("registration must be a registration's id.")
        }
        guard
            let owner = try await withLedger({ () async throws(LedgerUnavailable) in try await ledger.owner(of: id) })
        else { throw .notFound("There is no such registration.") }
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

internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `nodes list`: lists the gateways that share the store, this one included. Empty for a gateway with a ledger in a file.
struct ListNodesOperation: ControlOperation {
    static let name = "nodes list"

    let nodes: StoreNodes?

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let list: [ListedNode]
        do throws(LedgerUnavailable) {
            list = try await nodes?.list() ?? []
        } catch {
            throw .unavailable("The gateways cannot be listed: \(error.detail)")
        }
        try await context.send(pageOf: list.map(\.item))
    }
}

extension ListedNode {
    /// The gateway as one result.
    var item: JSONValue {
        var members: [JSONValue.Member] = [
            .init("host", .string(host)), .init("node", .string(instance)), .init("version", .string(version)),
            .init("fence", .number(String(fence))), .init("state", .string(state.rawValue)),
        ]
        if let secondsUnseen { members.append(.init("seen", .number(String(secondsUnseen)))) }
        if let lag { members.append(.init("lag", .number(String(lag)))) }
        members.append(.init("accounts", .string(accounts.rawValue)))
        return .object(members)
    }
}

/// `accounts list`: lists the users whose accounts are missing, and whose ends wait for an operator because they are very
/// many.
struct ListWaitingAccountsOperation: ControlOperation {
    static let name = "accounts list"

    let massEnds: MassEnds

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        try await context.send(
            pageOf: massEnds.waiting.map { user, authenticator in
                .object([.init("user", .string(user.text)), .init("authenticator", .string(authenticator.text))])
            })
    }
}

/// `accounts apply`: ends the accounts that wait for an operator because they are very many, and applies the account lists
/// of this gateway although those of other gateways differ. It takes effect within a second.
struct ApplyAccountsOperation: ControlOperation {
    static let name = "accounts apply"

    /// The agreement with the other gateways; nil for a gateway with a ledger in a file.
    let agreement: (any AccountAgreement)?
    /// The ends that wait for an operator.
    let massEnds: MassEnds
    /// Makes the account monitor and the recheck try at once.
    let retry: @Sendable () async -> Void

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        if agreement == nil, massEnds.waiting.isEmpty {
            throw .refused("No account waits for this command: the account lists apply already.")
        }
        let record = try await context.record(.operatorApplyAccounts)
        var word = AccountWord(isNeeded: false, hosts: [])
        if let agreement {
            let found: AccountWord?
            do throws(LedgerUnavailable) {
                found = try await agreement.applyOwn()
            } catch {
                record.failed()
                throw .unavailable("The account lists cannot be applied: \(error.detail)")
            }
            guard let found else {
                record.failed()
                throw .unavailable("This gateway has not read its account lists yet.")
            }
            word = found
        }
        let ended = massEnds.confirm(includesLists: word.isNeeded).count
        if ended == 0, !word.isNeeded {
            record.failed()
            throw .refused(
                "No account waits for this command at this gateway. Ends that a user directory reports wait at one of the "
                    + "gateways that share the store: run it where the log says \"Too many accounts ended at once\".")
        }
        await retry()
        try await context.send(
            .object([
                .init("ended", .number(String(ended))), .init("overruled", .array(word.hosts.map(JSONValue.string))),
            ]))
    }
}

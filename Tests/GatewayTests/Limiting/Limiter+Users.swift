import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization

@testable import Gateway

extension UserName {
    /// A user of the tests of limits.
    static func numbered(_ number: Int) -> UserName { UserName(canonical: "user\(number)")! }
}

extension Identity {
    /// A caller of the tests of limits.
    static func test(_ user: UserName, _ groups: String...) -> Identity {
        Identity(user: user, groups: Set(groups.map { GroupName($0)! }), authenticator: "test")
    }
}

extension Limiter {
    /// The number of keys with their own place.
    var keyCount: Int { store.table.withLock { $0.count } }

    /// Charges a call of a user without groups from the tests' address.
    @discardableResult func admit(
        _ user: UserName, sending send: RequestedSend?
    ) throws(Rejection) -> [String] { try admit(.test(user), at: .documentation, sending: send) }

    /// Charges a call and returns whether it was admitted.
    func admits(
        _ caller: Identity, at peer: Peer = .documentation, to recipient: UserName? = nil,
        _ service: PushService = .apns
    ) -> Bool { refusing(caller, at: peer, to: recipient, service) == nil }

    /// The name and wait of the limit that rejects a call, or nil if the call is charged.
    func refusing(
        _ caller: Identity, at peer: Peer = .documentation, to recipient: UserName? = nil,
        _ service: PushService = .apns
    ) -> (name: String, seconds: Int)? {
        let send = recipient.map { RequestedSend(service: service, recipient: $0, text: "") }
        do throws(Rejection) {
            try admit(caller, at: peer, sending: send)
            return nil
        } catch {
            guard error.code == .rateLimited, case .limit(let name, let seconds) = error.extra else { return ("?", 0) }
            return (name, seconds)
        }
    }
}

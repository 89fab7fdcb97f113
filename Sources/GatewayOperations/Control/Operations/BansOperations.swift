internal import Foundation
internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// `bans list`: lists the users and addresses whose passwords are rejected after failed logins, with the remaining
/// time. The longest ban comes first.
struct ListBansOperation: ControlOperation {
    static let name = "bans list"

    let throttle: LoginThrottle

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        try await context.send(pageOf: throttle.currentBans().map(\.item))
    }
}

extension LoginBan {
    /// The ban as one result.
    var item: JSONValue {
        var members: [JSONValue.Member] = []
        if let user { members.append(.init("user", .string(user.text))) }
        if let address { members.append(.init("address", .string(address.operatorText))) }
        members.append(.init("seconds", .number(String(seconds))))
        return .object(members)
    }
}

/// `bans lift`: removes the failed logins of a user, of an address, or all of them. Takes effect at once.
struct LiftBansOperation: ControlOperation {
    static let name = "bans lift"
    static let arguments: Set<String> = ["user", "address", "all"]

    let throttle: LoginThrottle
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let user = try arguments.user("user", by: names)
        let address = try arguments.text("address")
        let isAll = try arguments.flag("all")
        let lifted: Int
        switch (user, address, isAll) {
        case (let user?, nil, false):
            try await context.record(.operatorLiftBan, user: user)
            lifted = throttle.lift(user: user)
        case (nil, let text?, false):
            guard let address = Peer.Address(operatorText: text) else {
                throw .refused("address is not an IP address.")
            }
            let peer = Peer(address: address, text: address.operatorText)
            try await context.record(.operatorLiftBan, target: peer.text)
            lifted = throttle.lift(address: peer)
        case (nil, nil, true):
            try await context.record(.operatorLiftBan, target: "all")
            lifted = throttle.liftAll()
        default:
            throw .malformed("Exactly one of user, address and all must be given.")
        }
        try await context.send(.object(user.members("user") + [.init("lifted", .number(String(lifted)))]))
    }
}

// Addresses of limits as operators read and write them. An IPv6 address stands for its /64, as in `Peer.limitKey`.

extension Peer.Address {
    /// Parses an IP address, an IPv6 /64, or `unix`. Returns nil for anything else.
    init?(operatorText text: String) {
        if text == "unix" {
            self = .local
            return
        }
        // The system would treat a NUL as the end of the text.
        guard !text.utf8.contains(0) else { return nil }
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self = .v4(UInt32(bigEndian: v4.s_addr))
            return
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text.hasSuffix("/64") ? String(text.dropLast(3)) : text, &v6) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: v6) { Array($0) }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        let (upper, lower) = (number(bytes[..<8]), number(bytes[8...]))
        // The listener treats IPv4-mapped addresses as IPv4 (RFC 4291, section 2.5.5.2).
        let isMapped = upper == 0 && lower >> 32 == 0xFFFF
        self = isMapped ? .v4(UInt32(truncatingIfNeeded: lower)) : .v6(upper, lower)
    }

    /// The address; for IPv6 the /64, which counts as one host.
    var operatorText: String {
        switch self {
        case .local: return "unix"
        case .v4(let number):
            return "\(number >> 24).\(number >> 16 & 0xFF).\(number >> 8 & 0xFF).\(number & 0xFF)"
        case .v6(let upper, _):
            var address = in6_addr()
            withUnsafeMutableBytes(of: &address) { $0.storeBytes(of: upper.bigEndian, as: UInt64.self) }
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            guard inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil else { return "?" }
            return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) + "/64"
        }
    }
}

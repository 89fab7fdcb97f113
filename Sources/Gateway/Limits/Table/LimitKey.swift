internal import GatewayCore

/// The key of an entry in the limit table: the number of the limit, and digests of the counted properties. Its size
/// does not depend on the names, so that the number of keys bounds the memory.
struct LimitKey: Hashable, Sendable {
    /// The caller; 0 if the limit does not count per caller. Likewise, each property below except `limit` is 0 if the
    /// limit does not count per that property.
    var caller: UInt64 = 0
    /// The recipient.
    var recipient: UInt64 = 0
    /// The address.
    var address: UInt64 = 0
    /// One of the caller's groups.
    var group: UInt32 = 0
    /// The number of the limit, at least 1. 0 marks a free slot.
    let limit: UInt16
    /// The push service.
    var service: UInt8 = 0

    init(limit: UInt16) { self.limit = limit }

    /// Returns the number of a service.
    static func number(_ service: PushService) -> UInt8 {
        switch service {
        case .apns: 1
        case .wns: 2
        case .mpns: 3
        case .fcm: 4
        }
    }

    /// The hash of the key. The members are keyed digests already, so that mixing them is enough.
    var position: UInt64 {
        var mixed = caller ^ (recipient &* 0x9E37_79B9_7F4A_7C15) ^ (address &* 0xC2B2_AE3D_27D4_EB4F)
        mixed ^= UInt64(group) << 24 | UInt64(limit) << 8 | UInt64(service)
        for _ in 0..<2 {
            mixed ^= mixed >> 32
            mixed = mixed &* 0xD6E8_FEB8_6659_FD93
        }
        return mixed ^ (mixed >> 32)
    }
}

/// The digests of one call's properties, computed once for all limits.
struct SubjectDigests: Sendable {
    private let digests: LimitDigests
    let caller: UInt64
    let address: UInt64
    var recipient: UInt64

    init(_ subject: borrowing LimitSubject, _ digests: LimitDigests) {
        self.digests = digests
        // `if let` instead of `map`, which would copy the value.
        caller = if let user = subject.user { digests.user(user) } else { 0 }
        recipient = if let user = subject.recipient { digests.user(user) } else { 0 }
        address = if let address = subject.address { digests.address(address) } else { 0 }
    }

    func group(_ group: GroupName) -> UInt32 { digests.group(group) }
}

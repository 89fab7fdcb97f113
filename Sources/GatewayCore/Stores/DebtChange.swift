/// The shared debts that match all given members.
public struct DebtPattern: Sendable, Hashable {
    /// The limits; none for any limit.
    public var limits: Set<UInt64>
    /// The caller; nil for any. Likewise the members below.
    public var caller: UInt64?
    /// The recipient.
    public var recipient: UInt64?
    /// The address.
    public var address: UInt64?
    /// The group.
    public var group: UInt32?
    /// The push service.
    public var service: UInt8?

    /// Creates a pattern of whole limits.
    public init(limits: Set<UInt64> = []) { self.limits = limits }

    /// Whether the pattern selects whole limits.
    public var isOfWholeLimits: Bool {
        caller == nil && recipient == nil && address == nil && group == nil && service == nil
    }

    /// Returns whether the pattern includes a limit.
    public func includes(limit: UInt64) -> Bool { limits.isEmpty || limits.contains(limit) }

    /// Returns whether the key matches, whatever its limit is.
    public func matchesSubjects(of key: DebtKey) -> Bool {
        (caller.map { $0 == key.caller } ?? true) && (recipient.map { $0 == key.recipient } ?? true)
            && (address.map { $0 == key.address } ?? true) && (group.map { $0 == key.group } ?? true)
            && (service.map { $0 == key.service } ?? true)
    }

    /// Returns whether the key matches.
    public func matches(_ key: DebtKey) -> Bool { includes(limit: key.limit) && matchesSubjects(of: key) }

    /// The pattern as bytes: which members are given, the members as in `DebtKey.bytes`, and the limits.
    ///
    /// The caller's eight bytes begin at the second byte.
    public var bytes: [UInt8] {
        var given: UInt8 = 0
        let areGiven = [caller != nil, recipient != nil, address != nil, group != nil, service != nil]
        for (bit, isGiven) in areGiven.enumerated() where isGiven { given |= 1 << UInt8(bit) }
        var bytes = [given]
        for member in [caller, recipient, address] { bytes.append(bigEndian: member ?? 0) }
        bytes.append(bigEndian: group ?? 0)
        bytes.append(service ?? 0)
        for limit in limits.sorted() { bytes.append(bigEndian: limit) }
        return bytes
    }

    /// Reads a pattern. Returns nil for bytes of another length.
    public init?(bytes: [UInt8]) {
        guard bytes.count >= 30, (bytes.count - 30) % 8 == 0 else { return nil }
        func ifGiven<Member>(_ bit: UInt8, _ member: Member) -> Member? { bytes[0] & 1 << bit == 0 ? nil : member }
        limits = Set(stride(from: 30, to: bytes.count, by: 8).map { bytes[$0..<$0 + 8].bigEndianNumber() })
        caller = ifGiven(0, bytes[1..<9].bigEndianNumber())
        recipient = ifGiven(1, bytes[9..<17].bigEndianNumber())
        address = ifGiven(2, bytes[17..<25].bigEndianNumber())
        group = ifGiven(3, bytes[25..<29].bigEndianNumber())
        service = ifGiven(4, bytes[29])
    }
}

/// A change of the state of limits and login throttles that every node applies to its memory.
public struct DebtChange: Sendable, Hashable {
    /// The kind of a change. The raw value is stored.
    public enum Kind: String, Sendable, Hashable {
        /// An operator has removed the debts that match.
        case debtsRemoved = "debts-removed"
        /// The caller has logged in from the address.
        case knownLogin = "known-login"
        /// The caller, or everybody, has no known address any more.
        case knownLoginsRemoved = "known-logins-removed"
    }

    /// The kind.
    public let kind: Kind
    /// The keys that the change applies to.
    public let pattern: DebtPattern
    /// The time since the change, in nanoseconds.
    public let age: Int64

    /// Creates a change.
    public init(_ kind: Kind, _ pattern: DebtPattern, age: Int64 = 0) {
        self.kind = kind
        self.pattern = pattern
        self.age = age
    }
}

/// The key of a debt that nodes share: digests of a limit and of what it counts by. Equal on all nodes.
public struct DebtKey: Sendable, Hashable, Comparable {
    /// The limit.
    public var limit: UInt64
    /// The caller; 0 if the limit does not count per caller. Likewise the members below.
    public var caller: UInt64 = 0
    /// The recipient.
    public var recipient: UInt64 = 0
    /// The address.
    public var address: UInt64 = 0
    /// A group of the caller.
    public var group: UInt32 = 0
    /// The push service.
    public var service: UInt8 = 0

    /// Creates the key of a limit that counts all calls together.
    public init(limit: UInt64) { self.limit = limit }

    /// The length of ``bytes``.
    public static let byteCount = 37

    /// The members in network byte order. Sorted like the keys.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for number in [limit, caller, recipient, address] { bytes.append(bigEndian: number) }
        bytes.append(bigEndian: group)
        bytes.append(service)
        return bytes
    }

    /// Reads a key. Returns nil for bytes of another length.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        limit = bytes[0..<8].bigEndianNumber()
        caller = bytes[8..<16].bigEndianNumber()
        recipient = bytes[16..<24].bigEndianNumber()
        address = bytes[24..<32].bigEndianNumber()
        group = bytes[32..<36].bigEndianNumber()
        service = bytes[36]
    }

    /// Returns whether the left key comes first in the order in which nodes lock rows.
    public static func < (left: DebtKey, right: DebtKey) -> Bool {
        (left.limit, left.caller, left.recipient, left.address, left.group, left.service)
            < (right.limit, right.caller, right.recipient, right.address, right.group, right.service)
    }
}

/// The debt that a node has added to a key since it last shared it.
public struct AddedDebt: Sendable, Hashable {
    /// The key.
    public let key: DebtKey
    /// The debt in nanoseconds; negative for refunds.
    public let added: Int64
    /// The maximum debt of the key in nanoseconds.
    public let maximum: Int64

    /// Creates an added debt.
    public init(key: DebtKey, added: Int64, maximum: Int64) {
        self.key = key
        self.added = added
        self.maximum = maximum
    }
}

/// The debt of a key over all nodes.
public struct TotalDebt: Sendable, Hashable {
    /// The key.
    public let key: DebtKey
    /// The time in nanoseconds until the key has no debt; 0 or negative without debt.
    public let debt: Int64

    /// Creates a total.
    public init(key: DebtKey, debt: Int64) {
        self.key = key
        self.debt = debt
    }
}

/// A component of a node whose keys have debts that the nodes share. Safe to use from any thread.
public protocol DebtSource: Sendable {
    /// Returns the debts that were added since the last call, at most one for each key, in the order of the keys.
    func takeDebts() -> [AddedDebt]
    /// Adds debts that could not be shared to those of the next call of `takeDebts`.
    func restore(_ debts: [AddedDebt])
    /// Replaces the debts of keys by their totals, plus what was added after `takeDebts`.
    func apply(_ totals: [TotalDebt])
    /// Applies changes in their order.
    func apply(_ changes: [DebtChange])
    /// Sets the factor by which further calls count: 1, or the number of nodes while this one is cut off from the others.
    func use(weight: Int)
}

extension [UInt8] {
    mutating func append(bigEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

extension ArraySlice<UInt8> {
    func bigEndianNumber<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
        reduce(0) { $0 << 8 | Number($1) }
    }
}

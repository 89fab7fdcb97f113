internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// Statements on handles that an earlier version spelled differently. The key is a digest of the spelling, so such a
/// handle has a different key.
extension LedgerTables {
    /// Returns whether a registration is bound to one of the former keys, and none to the current key.
    func registration(boundToAnyOf former: [HandleKey], unlessBound key: HandleKey) throws -> Bool {
        guard try registration(boundTo: key) == nil else { return false }
        return try former.contains { try registration(boundTo: $0) != nil }
    }

    /// Changes rows with one of the former keys to the current key, unless the current key is bound.
    func adopt(_ former: [HandleKey], as key: HandleKey) throws {
        guard try registration(boundTo: key) == nil,
            let found = try former.first(where: { try registration(boundTo: $0) != nil })
        else { return }
        for table in ["registration", "hand_over"] {
            try execute(
                sql: "UPDATE \(table) SET handle = ? WHERE service = ? AND handle = ?",
                arguments: [Data(key.digest.bytes), found.service.rawValue, Data(found.digest.bytes)])
        }
    }
}

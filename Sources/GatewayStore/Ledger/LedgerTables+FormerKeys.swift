internal import Foundation
internal import GRDB
internal import GatewayCore

/// The statements about handles that an earlier version knew by other keys.
extension LedgerTables {
    /// Whether a registration is bound to one of the former keys, and none to the key of now.
    func registration(boundToAnyOf former: [HandleKey], unlessBound key: HandleKey) throws -> Bool {
        guard try registration(boundTo: key) == nil else { return false }
        return try former.contains { try registration(boundTo: $0) != nil }
    }

    /// Gives what is bound to one of the former keys the key of now, unless that is bound.
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

@testable internal import GatewayOperations

/// An entry of a Notification Hubs export that is accepted stays within the bounds of an entry.
enum HubExportTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        guard let entry = try? ExportEntryReader.read(input) else { return }
        guard entry.handle.utf8.count <= input.count, entry.tags.reduce(0, { $0 + $1.utf8.count }) <= input.count else {
            propertyFails("the entry is longer than its line")
        }
    }
}

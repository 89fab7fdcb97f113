@testable internal import Gateway
@testable internal import GatewayOperations

/// Both readers of a hub's list of registrations find no more registrations than the document can hold.
enum HubFeedTarget: FuzzTarget {
    /// The length of `<RegistrationId>1-1-1</RegistrationId>`.
    private static let minimumLength = 38

    static func run(_ input: [UInt8]) {
        let ids = HubEntry.ids(inFeed: input, of: .apns) ?? []
        guard ids.count * minimumLength <= input.count else {
            propertyFails("\(ids.count) ids in \(input.count) bytes")
        }
        let entries = ExportEntryReader.readFeed(input) ?? []
        guard entries.reduce(0, { $0 + $1.handle.utf8.count + $1.registrationID.utf8.count }) <= input.count else {
            propertyFails("the entries are longer than the feed")
        }
    }
}

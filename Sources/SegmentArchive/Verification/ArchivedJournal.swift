internal import GatewayStore
internal import GatewaySupport
internal import OutboundHTTP

/// The objects of an archive, listed once.
struct ArchivedJournal: Sendable {
    /// The archived segments, with the sizes of their objects, in ascending order.
    private(set) var segments: [(name: JournalSegmentName, size: UInt64)] = []
    /// The names of segments that were archived beside an object with other content.
    private(set) var conflicts: [String] = []

    /// The maximum number of objects, more than 60 TB of segments.
    private static let maximumObjects = 1_000_000

    /// The maximum number of pages, of which a hostile store could return any number without objects.
    private static let maximumPages = 100_000

    /// Lists the archive. Other objects below the prefix are ignored.
    init(_ store: ObjectStore) async throws(DeliveryFailure) {
        let beginning = store.settings.key("")
        var token: String?
        var pages = 0
        repeat {
            pages += 1
            let page = try await store.list(beginning + ArchivedName.beginning, after: token)
            for object in page.objects {
                switch ArchivedName(String(object.key.dropFirst(beginning.count))) {
                case .segment(let name)?: segments.append((name, object.size))
                case .conflict(let name, let digits)?: conflicts.append(ArchivedName.conflict(name, digits).text)
                case nil: continue
                }
            }
            guard segments.count + conflicts.count <= Self.maximumObjects else {
                throw DeliveryFailure("the archive has more than \(Self.maximumObjects) objects")
            }
            guard pages < Self.maximumPages || page.nextToken == nil else {
                throw DeliveryFailure("the listing of the store does not end")
            }
            token = page.nextToken
        } while token != nil
        segments.sort { $0.name < $1.name }
    }
}

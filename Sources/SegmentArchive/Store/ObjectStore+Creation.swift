internal import GatewaySupport
internal import OutboundHTTP

extension ObjectStore {
    /// The result of archiving a segment under a name.
    enum Archived: Sendable, Hashable {
        /// The object was written.
        case uploaded
        /// The store had the object with the same content.
        case present
        /// The store has an object of this name with other content, which is left as it is.
        case differs
    }

    /// Writes the segment under the key unless the store has an object there.
    ///
    /// The store is asked first, because some stores ignore the condition of the write.
    func archive(_ file: SegmentFile, as key: String) async throws(DeliveryFailure) -> Archived {
        // A listing says why it is rejected; a response to HEAD has no body that could.
        let found = try await list(key, atMost: 1).objects
        if found.first?.key != key, try await create(key, from: file) == .created { return .uploaded }
        guard let properties = try await properties(of: key) else {
            throw DeliveryFailure("\(key) was deleted while it was compared")
        }
        guard properties.size == UInt64(file.size) else { return .differs }
        var digest = properties.digest
        if digest == nil { digest = try await self.digest(of: key) }
        return digest == file.digest ? .present : .differs
    }
}

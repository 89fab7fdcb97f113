internal import GatewayCore
internal import GatewayStore

/// Determines the owner of a registration from before the gateway, or the reason why it is rejected.
struct ExportValidator: Sendable {
    let names: NameRules
    let handles: HandleRules

    /// The reason why an entry is rejected, with the word that the import reports.
    enum Fault: String, Error, Sendable, Hashable, CaseIterable {
        /// Its id does not match the grammar that the gateway accepts, so the gateway cannot delete the registration
        /// either.
        case registrationID = "id-unusable"
        /// It is a template, or of a push service that these backends do not send to. No notification of theirs reaches
        /// it.
        case notOfThisKind = "other-kind"
        /// Its handle is invalid.
        case handle = "handle-unusable"
        /// It receives everything that a user sends (V5).
        case fromTag = "from-tag"
        /// It has a tag that belongs to the hub (V8).
        case systemTag = "system-tag"
        /// One of its tags is invalid.
        case tag = "tag-unusable"
        /// It has the tags of several users (V6).
        case severalUsers = "several-users"
        /// It has no user's tag.
        case noUser = "no-user"
        /// Its user's tag is not the canonical name of a user of the gateway. Names with different canonical forms must
        /// never share a tag.
        case spelling = "user-spelling"
        /// The hub has several registrations of its handle.
        case severalOfHandle = "several-of-handle"

        /// Whether the import skips the registration, so that `--purge` does not delete it either.
        var isSkipped: Bool { self == .registrationID || self == .notOfThisKind }
    }

    /// Returns the owner of the registration according to its tags.
    func owner(_ entry: ExportEntry) throws(Fault) -> UserName {
        var users: Set<String> = []
        for tag in entry.tags {
            let folded = tag.lowercased()
            if tag.contains("$") { throw .systemTag }
            if folded.hasPrefix("from:") { throw .fromTag }
            if folded.hasPrefix("username:") {
                users.insert(tag)
            } else if Tag(tag) == nil {
                throw .tag
            }
        }
        guard let tag = users.first else { throw .noUser }
        guard users.count == 1 else { throw .severalUsers }
        let name = String(tag.dropFirst("username:".count))
        guard tag.hasPrefix("username:"), let user = names.user(canonical: name) else { throw .spelling }
        return user
    }

    /// Returns the device handle of the registration.
    func handle(_ entry: ExportEntry) throws(Fault) -> DeviceHandle {
        guard let service = Self.services[entry.kind] else { throw .notOfThisKind }
        do throws(DeviceHandle.Fault) {
            return try handles.handle(entry.handle, of: service)
        } catch {
            throw .handle
        }
    }

    /// The kinds of native registrations. Native notifications do not reach templates.
    private static let services: [String: PushService] = [
        "AppleRegistrationDescription": .apns, "GcmRegistrationDescription": .fcm,
        "FcmV1RegistrationDescription": .fcm, "WindowsRegistrationDescription": .wns,
        "MpnsRegistrationDescription": .mpns,
    ]
}

internal import GatewayCore
internal import GatewayStore

/// Says of a registration from before the gateway whose it is, or what is wrong with it.
struct ExportValidator: Sendable {
    let names: NameRules
    let handles: HandleRules

    /// What is wrong with an entry, in the word that the import lists it by.
    enum Fault: String, Error, Sendable, Hashable, CaseIterable {
        /// It has no id that the gateway would ever send; it cannot be deleted by it either.
        case registrationID = "id-unusable"
        /// A template, or of a service that these backends do not send to: none of their notifications reach it.
        case notOfThisKind = "other-kind"
        /// Its handle is none.
        case handle = "handle-unusable"
        /// It receives all that a user sends (V5).
        case fromTag = "from-tag"
        /// It receives by a hub's own tag (V8).
        case systemTag = "system-tag"
        /// A tag that is none by its grammar.
        case tag = "tag-unusable"
        /// It has the tags of several users (V6).
        case severalUsers = "several-users"
        /// It has no user's tag.
        case noUser = "no-user"
        /// Its user's tag is not written as the user's canonical name is, so that it is none of the gateway's users' (security:
        /// names that canonicalise differently never share a tag).
        case spelling = "user-spelling"
        /// The hub has several registrations of its handle.
        case severalOfHandle = "several-of-handle"

        /// Whether the import leaves it alone, and whether `--purge` may touch it.
        var isSkipped: Bool { self == .registrationID || self == .notOfThisKind }
    }

    /// The user whose registration it is, by its tags.
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
        guard tag.hasPrefix("username:"), let user = names.canonical(name), user.text == name else { throw .spelling }
        return user
    }

    /// The device that it leads to.
    func handle(_ entry: ExportEntry) throws(Fault) -> DeviceHandle {
        guard let service = Self.services[entry.kind] else { throw .notOfThisKind }
        do throws(DeviceHandle.Fault) {
            return try handles.handle(entry.handle, of: service)
        } catch {
            throw .handle
        }
    }

    /// Native registrations alone: a native notification reaches no template.
    private static let services: [String: PushService] = [
        "AppleRegistrationDescription": .apns, "GcmRegistrationDescription": .fcm,
        "FcmV1RegistrationDescription": .fcm, "WindowsRegistrationDescription": .wns,
        "MpnsRegistrationDescription": .mpns,
    ]
}

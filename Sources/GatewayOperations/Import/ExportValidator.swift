internal import GatewayCore
internal import GatewayStore

/// Determines the owner of a registration from before the gateway, or the reason why it is rejected.
struct ExportValidator: Sendable {
    let names: NameRules
    let handles: HandleRules
    /// Whether installations of one user are valid.
    var adoptsInstallations = false

    /// The reason why an entry is rejected, with the word that the import reports.
    enum Fault: String, Error, Sendable, Hashable, CaseIterable {
        /// Its id does not match the grammar that the gateway accepts, so the gateway cannot delete the registration
        /// either.
        case registrationID = "id-unusable"
        /// An app registered it as an installation, without a notify-users backend. The hub lists an installation as
        /// registrations with the tag `$InstallationId:{…}`.
        case installation
        /// It is a template. No notification of these backends reaches it.
        case template
        /// It is of a push service that these backends do not send to.
        case otherKind = "other-kind"
        /// Its handle is invalid, such as a GCM token from before Firebase.
        case handle = "handle-unusable"
        /// It receives everything that a user sends (V5).
        case fromTag = "from-tag"
        /// It has a tag that belongs to the hub (V8).
        case systemTag = "system-tag"
        /// One of its tags is invalid.
        case tag = "tag-unusable"
        /// It has the tags of several users (V6).
        case severalUsers = "several-users"
        /// It has no user's tag, such as that of an app for broadcasts.
        case noUser = "no-user"
        /// Its user's tag is not the canonical name of a user of the gateway. Names with different canonical forms must
        /// never share a tag.
        case spelling = "user-spelling"
        /// The hub has several registrations of its handle.
        case severalOfHandle = "several-of-handle"

        /// Whether the registration lets a device receive what another user is sent or sends. All others may be correct
        /// registrations of something else that uses the hub.
        var isHarmful: Bool { self == .fromTag || self == .severalUsers }

        /// The word for the reason in lists.
        var reason: String { self == .template ? Self.otherKind.rawValue : rawValue }

        /// The name by which an operator has registrations with this reason deleted; nil if that needs no name or is
        /// impossible.
        var deletionName: String? {
            switch self {
            case .registrationID, .fromTag, .severalUsers: nil
            case .installation: "installations"
            case .template: "templates"
            case .otherKind, .handle, .systemTag, .tag, .noUser, .spelling, .severalOfHandle: rawValue
            }
        }
    }

    /// The result of the validation of an entry.
    struct Result: Sendable {
        /// The device handle, if it is valid.
        var handle: DeviceHandle?
        /// The only owner according to the tags, if there is one.
        var owner: UserName?
        /// The reason why the entry is rejected; nil for a valid one, which has a handle and an owner.
        var fault: Fault?
    }

    /// Validates an entry.
    func validate(_ entry: ExportEntry) -> Result {
        var result = Result()
        do throws(Fault) {
            result.handle = try handle(entry)
            result.owner = try owner(entry)
        } catch {
            result.fault = error
        }
        if entry.isInstallation, !adoptsInstallations || result.fault != nil { result.fault = .installation }
        return result
    }

    /// Returns the owner of the registration according to its tags.
    private func owner(_ entry: ExportEntry) throws(Fault) -> UserName {
        var users: Set<String> = []
        var installationUsers: Set<String> = []
        for tag in entry.tags {
            let folded = tag.lowercased()
            if entry.isInstallation, folded.hasPrefix(ExportEntry.installationTag) { continue }
            if entry.isInstallation, folded.hasPrefix("$userid:{"), tag.hasSuffix("}") {
                installationUsers.insert(String(tag.dropFirst("$userid:{".count).dropLast()))
                continue
            }
            if tag.contains("$") { throw .systemTag }
            if folded.hasPrefix("from:") { throw .fromTag }
            if folded.hasPrefix("username:") {
                users.insert(tag)
            } else if Tag(tag) == nil {
                throw .tag
            }
        }
        guard users.count + installationUsers.count > 0 else { throw .noUser }
        var owners: Set<UserName> = []
        guard users.count <= 1 else { throw .severalUsers }
        for tag in users {
            let name = String(tag.dropFirst("username:".count))
            guard tag.hasPrefix("username:"), let user = names.user(canonical: name) else { throw .spelling }
            owners.insert(user)
        }
        for name in installationUsers {
            // An app sets the name of an account.
            guard let user = names.canonical(LoginName(name)) else { throw .spelling }
            owners.insert(user)
        }
        guard owners.count == 1, let owner = owners.first else { throw .severalUsers }
        return owner
    }

    /// Returns the device handle of the registration.
    private func handle(_ entry: ExportEntry) throws(Fault) -> DeviceHandle {
        guard let service = Self.services[entry.kind] else {
            throw entry.kind.hasSuffix("TemplateRegistrationDescription") ? .template : .otherKind
        }
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

extension ExportEntry {
    /// The start of the tag that the hub gives to the registrations of an installation, in lower case.
    static let installationTag = "$installationid:"

    /// Whether the registration is a part of an installation.
    var isInstallation: Bool { tags.contains { $0.lowercased().hasPrefix(Self.installationTag) } }
}

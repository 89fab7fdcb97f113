internal import Dispatch
internal import Foundation
internal import GatewayCore

/// The user that a gateway's stores belong to, by the directory that the ledger lies in.
///
/// A command that changes the stores of a stopped gateway does so as this user. What root made there the service could neither
/// read nor write, and it would not start.
public struct StoresOwner: Sendable, Hashable {
    let user: uid_t
    let group: gid_t
    private let directory: String

    /// The owner of the nearest directory that exists.
    public init(of configuration: ServerConfiguration) {
        self.init(ofFile: configuration.ledger.file)
    }

    init(ofFile path: String) {
        var nearest = (path as NSString).deletingLastPathComponent
        while !FileManager.default.fileExists(atPath: nearest.isEmpty ? "." : nearest), !nearest.isEmpty, nearest != "/"
        {
            nearest = (nearest as NSString).deletingLastPathComponent
        }
        // Attributes of what a link leads to, not of the link.
        let folder = ((nearest.isEmpty ? "." : nearest) as NSString).resolvingSymlinksInPath
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder)
        user = (attributes?[.ownerAccountID] as? NSNumber)?.uint32Value ?? 0
        group = (attributes?[.groupOwnerAccountID] as? NSNumber)?.uint32Value ?? 0
        directory = nearest
    }

    /// Makes root this user for the rest of the process: effective user, group and supplementary groups. Any other user stays.
    ///
    /// The real user stays root, so that records name who ran the command. Called once, before a command opens a store.
    ///
    /// - Throws: `ConfigurationError` where the system does not let root change.
    public func assume() throws {
        guard geteuid() == 0, user != 0 else { return }
        let name = getpwuid(user).map { String(cString: $0.pointee.pw_name) }
        let hasGroups = name.map { initgroups($0, group) == 0 } ?? (setgroups(1, [group]) == 0)
        guard hasGroups, setegid(group) == 0, seteuid(user) == 0 else {
            throw ConfigurationError(
                file: directory,
                "belongs to uid \(user), and root cannot become that user: \(String(cString: strerror(errno)))")
        }
    }
}

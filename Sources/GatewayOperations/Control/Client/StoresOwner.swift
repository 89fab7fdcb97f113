internal import Dispatch
internal import Foundation
public import GatewayConfiguration
internal import GatewaySupport

/// The user that owns a gateway's stores, determined by the directory of the ledger.
///
/// A command that changes the stores of a stopped gateway runs as this user. The service could not read or write files
/// that root creates there, and would not start.
public struct StoresOwner: Sendable, Hashable {
    let user: uid_t
    let group: gid_t
    private let directory: String

    /// Determines the owner of the nearest existing directory.
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

    /// Changes the effective user, group and supplementary groups of root to those of this user, for the rest of the
    /// process or until `resign`. Does nothing for any other user.
    ///
    /// The real user stays root, so journal records name the user who ran the command. Called once, before a command
    /// opens a store.
    ///
    /// - Throws: `ConfigurationError` if the system rejects the change.
    public func assume() throws {
        guard geteuid() == 0, user != 0 else { return }
        let name = getpwuid(user).map { String(cString: $0.pointee.pw_name) }
        let hasGroups = name.map { initgroups($0, group) == 0 } ?? (setgroups(1, [group]) == 0)
        guard hasGroups, setegid(group) == 0, seteuid(user) == 0 else {
            throw ConfigurationError(
                file: directory,
                "belongs to uid \(user), but root cannot change to that user: \(String(cString: strerror(errno)))")
        }
    }

    /// Changes back to root after `assume`, when the stores are closed. The command then writes where its caller may write.
    public static func resign() throws {
        guard getuid() == 0, geteuid() != 0 else { return }
        guard seteuid(0) == 0, setegid(getgid()) == 0, setgroups(0, nil) == 0 else {
            throw ConfigurationError(
                file: "notify-gateway", "cannot change back to root: \(String(cString: strerror(errno)))")
        }
    }
}

/// The owner of files that a command makes for the service. Only root can give files to another user.
struct FileOwner: Sendable {
    let user: uid_t
    let group: gid_t

    /// Gives an open file to the owner.
    func own(_ file: CInt, _ path: String) throws(FileFailure) {
        guard geteuid() == 0 else { return }
        guard fchown(file, user, group) == 0 else { throw FileFailure("chown", path) }
    }

    /// Gives a file or a directory to the owner, but not what a link leads to.
    func own(_ path: String) throws(FileFailure) {
        guard geteuid() == 0 else { return }
        guard lchown(path, user, group) == 0 else { throw FileFailure("chown", path) }
    }
}

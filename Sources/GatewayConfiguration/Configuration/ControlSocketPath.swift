internal import Foundation
internal import GatewayCore
internal import GatewaySupport

/// The path of the control socket.
package enum ControlSocketPath {
    /// The path under the service unit, in its runtime directory.
    static let standard = "/run/notify-gateway/control.sock"
    /// The maximum length in bytes: the capacity of `sockaddr_un.sun_path` without the terminating NUL.
    static let maximumLength = 107

    /// Reads `control`: the path of the socket, relative to the directory of the file.
    ///
    /// Without it, the standard path applies if its directory exists and, to listen, this user can write to it.
    /// Otherwise there is no socket, so a gateway that is started by hand needs no runtime directory.
    static func read(_ root: ConfigurationReader, toListen: Bool) -> String? {
        guard let path = root.path("control") else {
            let directory = directory(of: standard)
            let manager = FileManager.default
            return manager.fileExists(atPath: directory) && (!toListen || manager.isWritableFile(atPath: directory))
                ? standard : nil
        }
        guard !path.hasSuffix("/") else {
            root.report("control", "must be the path of a socket, not a directory")
            return nil
        }
        guard path.utf8.count <= maximumLength else {
            root.report(
                "control", "is an absolute path of \(path.utf8.count) bytes; the system allows at most \(maximumLength)"
            )
            return nil
        }
        return path
    }

    /// Creates the directory if it does not exist, with access for this user only. Blocks.
    package static func makeDirectory(of path: String) throws {
        let directory = directory(of: path)
        if FileManager.default.fileExists(atPath: directory) { return }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Returns the directory of a socket.
    package static func directory(of path: String) -> String {
        let directory = (path as NSString).deletingLastPathComponent
        return directory.isEmpty ? "." : directory
    }
}

extension ControlSocketPath {
    /// Returns why the directory of a socket is unsafe, or nil. A directory that does not exist is created with safe
    /// permissions later. Blocks.
    package static func obstacle(inDirectoryOf path: String) -> String? {
        let directory = directory(of: path)
        let place = (directory as NSString).resolvingSymlinksInPath
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: place) else { return nil }
        guard attributes[.type] as? FileAttributeType == .typeDirectory else {
            return "\(directory) is not a directory"
        }
        guard let mode = (attributes[.posixPermissions] as? NSNumber)?.uint32Value, mode & 0o022 == 0 else {
            return "\(directory) is writable by other users, who could place a socket there; run chmod go-w on it"
        }
        let user = geteuid()
        guard let owner = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value,
            user == 0 || owner == 0 || owner == user
        else { return "\(directory) belongs to another user, who could place a socket there" }
        return nil
    }
}

internal import Foundation
internal import GatewayCore

/// Where the control socket is.
enum ControlSocketPath {
    /// Where it is under the service unit, whose runtime directory this is.
    static let standard = "/run/notify-gateway/control.sock"
    /// What `sockaddr_un` holds, without the NUL that ends it.
    static let longest = 107

    /// Reads `control`: the path of the socket, relative to the directory of the file.
    ///
    /// Unless given, the standard one where its directory is there and this user can use it, and none otherwise: a gateway
    /// that is tried out by hand starts without a runtime directory.
    static func read(_ root: ConfigurationReader, toListen: Bool) -> String? {
        guard let path = root.path("control") else {
            let directory = directory(of: standard)
            let manager = FileManager.default
            return manager.fileExists(atPath: directory) && (!toListen || manager.isWritableFile(atPath: directory))
                ? standard : nil
        }
        guard !path.hasSuffix("/") else {
            root.report("control", "must be the path of a socket, not of a directory")
            return nil
        }
        guard path.utf8.count <= longest else {
            root.report(
                "control", "is \(path.utf8.count) bytes long as a whole path; the system takes at most \(longest)")
            return nil
        }
        return path
    }

    /// Makes the directory where it is missing, for this user alone. Blocks.
    static func makeDirectory(of path: String) throws {
        let directory = directory(of: path)
        if FileManager.default.fileExists(atPath: directory) { return }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    static func directory(of path: String) -> String {
        let directory = (path as NSString).deletingLastPathComponent
        return directory.isEmpty ? "." : directory
    }
}

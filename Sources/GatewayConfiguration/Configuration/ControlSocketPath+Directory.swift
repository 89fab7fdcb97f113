internal import Foundation

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

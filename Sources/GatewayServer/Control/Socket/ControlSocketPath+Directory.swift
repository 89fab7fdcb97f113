internal import Foundation

extension ControlSocketPath {
    /// What makes the directory of a socket unfit, or nil; one that is not there yet is made as it should be. Blocks.
    static func obstacle(inDirectoryOf path: String) -> String? {
        let directory = directory(of: path)
        let place = (directory as NSString).resolvingSymlinksInPath
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: place) else { return nil }
        guard attributes[.type] as? FileAttributeType == .typeDirectory else {
            return "\(directory) is not a directory"
        }
        guard let mode = (attributes[.posixPermissions] as? NSNumber)?.uint32Value, mode & 0o022 == 0 else {
            return "\(directory) can be written to by others, who could put a socket of theirs there; chmod go-w it"
        }
        let user = geteuid()
        guard let owner = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value,
            user == 0 || owner == 0 || owner == user
        else { return "\(directory) belongs to another user, who could put a socket of theirs there" }
        return nil
    }
}

internal import Foundation
internal import GatewayCore

/// Whether the gateway will be able to write where the configuration says; nothing is made.
struct DirectoryCheck {
    let file: String

    /// What is wrong with a directory that is there, or that will be made at the first start.
    func problem(with directory: String, under path: String) -> ConfigurationProblem? {
        let manager = FileManager.default
        var nearest = directory.isEmpty ? "." : directory
        var isDirectory: ObjCBool = false
        while !manager.fileExists(atPath: nearest, isDirectory: &isDirectory) {
            let parent = (nearest as NSString).deletingLastPathComponent
            nearest = parent.isEmpty ? "." : parent
        }
        let obstacle: String? =
            if !isDirectory.boolValue {
                "\(nearest) is not a directory"
            } else if !manager.isWritableFile(atPath: nearest) {
                "\(nearest) cannot be written by this user"
            } else {
                nil
            }
        return obstacle.map { ConfigurationProblem(at: SourceLocation(file: file), path: path, $0) }
    }
}

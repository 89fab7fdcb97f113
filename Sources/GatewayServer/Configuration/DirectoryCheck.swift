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
        return obstacle.map { fault($0, under: path) }
    }

    /// What is wrong with the directory of the control socket.
    func problem(withControlSocket socket: String) -> ConfigurationProblem? {
        problem(with: ControlSocketPath.directory(of: socket), under: "control")
            ?? ControlSocketPath.obstacle(inDirectoryOf: socket).map { fault($0, under: "control") }
    }

    private func fault(_ message: String, under path: String) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: file), path: path, message)
    }
}

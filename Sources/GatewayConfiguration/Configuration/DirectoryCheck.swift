internal import Foundation
internal import GatewaySupport

/// Checks whether the gateway can write to the directories of the configuration. Creates nothing.
struct DirectoryCheck {
    let file: String

    /// Returns the problem with a directory that exists or that the first start creates; nil if there is none.
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

    /// Returns the problem with the directory of the control socket; nil if there is none.
    func problem(withControlSocket socket: String) -> ConfigurationProblem? {
        problem(with: ControlSocketPath.directory(of: socket), under: "control")
            ?? ControlSocketPath.obstacle(inDirectoryOf: socket).map { fault($0, under: "control") }
    }

    private func fault(_ message: String, under path: String) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: file), path: path, message)
    }
}

internal import Foundation
internal import GatewaySupport

/// Reads whole files.
enum TextFile {
    /// Returns the first 64 MiB of a file. The thrown problem describes the failure for an operator.
    static func bytes(_ path: String) throws(ConfigurationProblem) -> Data {
        func problem(_ message: String) -> ConfigurationProblem {
            ConfigurationProblem(at: SourceLocation(file: path), path: "", message)
        }
        // Without `O_NONBLOCK`, opening a FIFO would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw problem(OperatorMessage.reading(errno)) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let data = try? handle.read(upToCount: 64 << 20) ?? Data() else {
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            throw problem(OperatorMessage.reading(isDirectory.boolValue ? EISDIR : EIO))
        }
        return data
    }
}

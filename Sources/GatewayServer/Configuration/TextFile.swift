internal import Foundation
internal import GatewayCore

/// Text files that are read as a whole.
enum TextFile {
    /// The bytes of a regular file, or why there are none, in words for an operator.
    static func bytes(_ path: String) throws(ConfigurationProblem) -> Data {
        func problem(_ message: String) -> ConfigurationProblem {
            ConfigurationProblem(at: SourceLocation(file: path), path: "", message)
        }
        // Non-blocking, or a FIFO of that name would be waited for.
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

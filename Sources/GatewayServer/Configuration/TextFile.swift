// With a static Swift runtime, `stat` and its members come through this module.
internal import Dispatch
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
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            throw problem(OperatorMessage.reading(EISDIR))
        }
        guard let data = try? handle.read(upToCount: 64 << 20) ?? Data() else {
            throw problem(OperatorMessage.reading(EIO))
        }
        return data
    }
}

internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// A file of an export: mode 0600, complete or absent.
package enum TransferFile {
    /// Writes a new file of the lines that the body passes on. Throws if the file exists; a failed export leaves none.
    /// Blocks.
    package static func write<Value>(
        _ path: String, _ body: (_ write: ([UInt8]) throws -> Void) throws -> Value
    ) throws -> Value {
        guard access(path, F_OK) != 0 else { throw LedgerUnavailable("\(path) already exists") }
        let part = path + ".part"
        try PrivateFiles.remove(part)
        try PrivateFiles.makeFile(part)
        do {
            let file = try PrivateFiles.openRegular(part, O_WRONLY)
            defer { close(file) }
            var buffer: [UInt8] = []
            func flush() throws(FileFailure) {
                var rest = buffer[...]
                while !rest.isEmpty {
                    let written = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
                    if written < 0, errno == EINTR { continue }
                    guard written > 0 else { throw FileFailure("write", part) }
                    rest = rest.dropFirst(written)
                }
                buffer.removeAll(keepingCapacity: true)
            }
            let value = try body { line in
                buffer += line
                if buffer.count >= bufferSize { try flush() }
            }
            try flush()
            guard fsync(file) == 0 else { throw FileFailure("fsync", part) }
            try PrivateFiles.rename(part, to: path)
            return value
        } catch {
            try? PrivateFiles.remove(part)
            throw error
        }
    }

    /// Calls the body with a function that returns the next line of the file without its line feed, and nil at the end.
    /// Blocks.
    ///
    /// - Throws: `LedgerUnavailable` for a line of more than 1 MiB, and what the body throws.
    package static func read<Value>(
        _ path: String, _ body: (_ next: @escaping () throws -> [UInt8]?) throws -> Value
    ) throws -> Value {
        let file = try PrivateFiles.openRegular(path, O_RDONLY)
        defer { close(file) }
        var buffer: ArraySlice<UInt8> = []
        var isAtEnd = false
        return try body {
            while true {
                if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { buffer = buffer[(end + 1)...] }
                    return Array(buffer[..<end])
                }
                // A line without its line feed was cut off.
                if isAtEnd { return nil }
                guard buffer.count <= TransferLine.longest else {
                    throw LedgerUnavailable("\(path) has a line of more than \(TransferLine.longest) bytes")
                }
                var chunk = [UInt8](repeating: 0, count: bufferSize)
                let count = chunk.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw FileFailure("read", path) }
                isAtEnd = count == 0
                buffer = Array(buffer)[...] + chunk[..<count]
            }
        }
    }

    private static let bufferSize = 1 << 16
}

import Foundation

/// The output of commands: results on standard output, everything else on standard error.
enum Console {
    /// Writes a result. If that fails, for example on a full disk, the command fails. If the reader of a pipe has
    /// closed it, as `head` does, the command ends without an error.
    static func printResult(_ text: String) throws(CommandFailure) {
        do {
            try write(text, to: .standardOutput)
        } catch {
            if isBrokenPipe(error) { throw .readerLeft }
            throw .refused("The result cannot be written to standard output.")
        }
    }

    /// Writes a message that is not a result. A failure to write it cannot be reported and is ignored.
    static func printMessage(_ text: String) { try? write(text, to: .standardError) }

    private static func isBrokenPipe(_ error: any Error) -> Bool {
        let error = error as NSError
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
        return [error, cause].contains { $0?.domain == NSPOSIXErrorDomain && $0?.code == Int(EPIPE) }
    }

    // `FileHandle.write(_:)` would terminate the process on an error.
    private static func write(_ text: String, to handle: FileHandle) throws {
        try handle.write(contentsOf: Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
    }

    /// Writes a message to a terminal after one second, unless the returned task is cancelled before.
    static func progress(_ text: String) -> Task<Void, Never>? {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        return Task {
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            printMessage(text)
        }
    }

    /// Whether standard input is a terminal.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }
}

/// The reason why a command failed, with its exit code.
struct CommandFailure: Error {
    let message: String
    let code: Int32

    /// The reader of the output has closed it. The command ends without a message and without an error.
    static let readerLeft = CommandFailure(message: "", code: 0)
    /// The request was rejected, or an input is invalid.
    static func refused(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 1) }
    /// A required resource is unavailable.
    static func unavailable(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 69) }
}

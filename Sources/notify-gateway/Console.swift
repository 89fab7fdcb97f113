import Foundation

/// Standard output for results, standard error for everything else.
enum Console {
    /// Writes a result. A result that cannot be written, as on a full disk, is a failure of the command. Where the reader of a pipe
    /// has left, as `head` does, it has what it wanted: the command ends quietly.
    static func say(_ text: String) throws(CommandFailure) {
        do {
            try write(text, to: .standardOutput)
        } catch {
            if isBrokenPipe(error) { throw .readerLeft }
            throw .refused("The result cannot be written to standard output.")
        }
    }

    /// Writes what is not a result. Where that fails there is no place left to say so.
    static func complain(_ text: String) { try? write(text, to: .standardError) }

    private static func isBrokenPipe(_ error: any Error) -> Bool {
        let error = error as NSError
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
        return [error, cause].contains { $0?.domain == NSPOSIXErrorDomain && $0?.code == Int(EPIPE) }
    }

    // `FileHandle.write(_:)` ends the process where it fails.
    private static func write(_ text: String, to handle: FileHandle) throws {
        try handle.write(contentsOf: Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
    }

    /// Says on a terminal what is waited for, once that has taken a second; until it is cancelled.
    static func progress(_ text: String) -> Task<Void, Never>? {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        return Task {
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            complain(text)
        }
    }

    /// Whether somebody sits at standard input.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }
}

/// Why a command did not do what it was asked for.
struct CommandFailure: Error {
    let message: String
    let code: Int32

    /// Nobody reads the result any more; there is nothing to say, and nothing went wrong.
    static let readerLeft = CommandFailure(message: "", code: 0)
    /// Something was refused or found wrong.
    static func refused(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 1) }
    /// Something that is needed cannot be had.
    static func unavailable(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 69) }
}

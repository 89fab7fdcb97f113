import Foundation

/// Standard output for results, standard error for everything else.
enum Console {
    /// Writes a result. A result that nobody got is a failure of the command: a full disk, a pipe that was closed.
    static func say(_ text: String) throws(CommandFailure) {
        do {
            try write(text, to: .standardOutput)
        } catch {
            throw .refused("The result cannot be written to standard output.")
        }
    }

    /// Writes what is not a result. Where that fails there is no place left to say so.
    static func complain(_ text: String) { try? write(text, to: .standardError) }

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

    /// Something was refused or found wrong.
    static func refused(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 1) }
    /// Something that is needed cannot be had.
    static func unavailable(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 69) }
}

import Foundation

/// Standard output for results, standard error for everything else.
enum Console {
    /// Writes a result.
    static func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
    }

    /// Writes what is not a result.
    static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
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

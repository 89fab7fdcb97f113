import Foundation
import GatewayCore
import GatewaySupport

/// The output of commands: results on standard output, everything else on standard error.
///
/// Control characters are escaped, except line feeds and tabs: texts from files that the service's user or a plug-in
/// writes must not control the terminal of the operator.
enum Console {
    /// Writes a result. If that fails, for example on a full disk, the command fails. If the reader of a pipe has
    /// closed it, as `head` does, the command ends without an error.
    static func printResult(_ text: String) throws(CommandFailure) { try printExactly(text.escapingControls) }

    /// Writes a line of the journal. Its bytes are kept unless they are written to a terminal.
    static func printLine(_ line: [UInt8]) throws(CommandFailure) {
        let text = String(decoding: line, as: UTF8.self)
        try printExactly(isatty(STDOUT_FILENO) == 1 ? text.escapingControls : text)
    }

    private static func printExactly(_ text: String) throws(CommandFailure) {
        do {
            try write(text, to: .standardOutput)
        } catch {
            if isBrokenPipe(error) { throw .brokenPipe }
            throw .refused("The result cannot be written to standard output.")
        }
    }

    /// Writes a message that is not a result. A failure to write it cannot be reported and is ignored.
    static func printMessage(_ text: String) { try? write(text.escapingControls, to: .standardError) }

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

    /// The reader of standard output has closed the pipe. The command ends without a message and with exit code 0.
    static let brokenPipe = CommandFailure(message: "", code: 0)
    /// The request was rejected, or an input is invalid.
    static func refused(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 1) }
    /// A required resource is unavailable.
    static func unavailable(_ message: String) -> CommandFailure { CommandFailure(message: message, code: 69) }
}

extension String {
    /// The text with control characters of a terminal (C0 without line feed and tab, DEL, C1), line separators and
    /// bidirectional controls written as `\u` escapes. A JSON text keeps its meaning.
    var escapingControls: String {
        guard unicodeScalars.contains(where: Self.isTerminalControl) else { return self }
        var text = ""
        for (index, scalar) in zip(unicodeScalars.indices, unicodeScalars) {
            // The line ends of CSV (RFC 4180) are kept; the last line feed is written after the text.
            let next = unicodeScalars[unicodeScalars.index(after: index)...].first
            let isLineEnd = scalar == "\r" && (next == nil || next == "\n")
            guard Self.isTerminalControl(scalar), !isLineEnd else {
                text.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return text
    }

    /// The text with line feeds and tabs escaped too, for a text that must not look like several lines or columns.
    var onOneLine: String {
        replacing("\n", with: "\\n").replacing("\t", with: "\\t").escapingControls
    }

    private static func isTerminalControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case ..<0x20, 0x7F...0x9F: true
        // Unicode Standard Annex #9, table 4: marks, embeddings, overrides, isolates. U+2028 and U+2029 end lines.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

/// A progress line on a terminal, shown after one second.
struct ProgressLine {
    private let title: String
    private let began = ContinuousClock.now
    private let isShown = isatty(STDERR_FILENO) == 1
    private var shown: Int?

    init(_ title: String) { self.title = title }

    /// Updates the line if the percentage has changed.
    mutating func show(_ done: UInt64, of all: UInt64) {
        guard isShown, all > 0, ContinuousClock.now - began > .seconds(1) else { return }
        let percent = Int(Double(done) / Double(all) * 100)
        guard percent != shown else { return }
        shown = percent
        FileHandle.standardError.write(Data("\r\(title) \(percent) %".utf8))
    }

    /// Clears the line.
    mutating func finish() {
        guard shown != nil else { return }
        shown = nil
        FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
    }
}

/// Reads passwords: without echo from a terminal, or a line from a pipe. The command line is never used, because other
/// users of the machine can read it.
enum PasswordPrompt {
    /// Reads the current password of a user. If the input is no password, the command ends.
    static func readCurrent(of name: String) throws -> Secret {
        try accepted(
            Console.isInteractive
                ? readHidden("Password of \(name): ".escapingControls) : readLine(strippingNewline: true))
    }

    /// Reads a new password of the user, from a terminal twice. If the input is no password, the command ends.
    static func read(for user: UserName) throws -> Secret {
        guard Console.isInteractive else { return try accepted(readLine(strippingNewline: true)) }
        let first = try accepted(readHidden("New password for \(user): ".escapingControls))
        let second = try accepted(readHidden("Repeat the password: "))
        guard first.isEqual(to: second) else {
            throw CommandFailure.refused("The two passwords differ. Nothing was changed.")
        }
        return first
    }

    private static func accepted(_ text: String?) throws -> Secret {
        guard text?.contains("\u{3}") != true else { throw CommandFailure.refused("Interrupted. Nothing was changed.") }
        guard let text, (1...1024).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw CommandFailure.refused("The password must have 1 to 1024 bytes and no NUL. Nothing was changed.")
        }
        return Secret(text.utf8)
    }

    private static func readHidden(_ prompt: String) -> String? {
        try? FileHandle.standardError.write(contentsOf: Data(prompt.utf8))
        var shown = termios()
        tcgetattr(STDIN_FILENO, &shown)
        var hidden = shown
        // Ctrl-C arrives as a character, because the signal would leave the terminal without echo.
        hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            try? FileHandle.standardError.write(contentsOf: Data("\n".utf8))
        }
        return readLine(strippingNewline: true)
    }
}

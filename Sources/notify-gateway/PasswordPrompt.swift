import Foundation
import GatewayCore

/// Asks for a new password: twice and without echo on a terminal, once from a pipe. Never from the command line, which every
/// user of the machine can read.
enum PasswordPrompt {
    static func read(for user: UserName) throws -> Secret {
        guard Console.isInteractive else { return try accepted(readLine(strippingNewline: true)) }
        let first = try accepted(readHidden("New password for \(user): "))
        let second = try accepted(readHidden("Once more: "))
        guard first.isEqual(to: second) else {
            throw CommandFailure.refused("The two passwords differ; nothing was changed.")
        }
        return first
    }

    private static func accepted(_ text: String?) throws -> Secret {
        guard text?.contains("\u{3}") != true else { throw CommandFailure.refused("Interrupted; nothing was changed.") }
        guard let text, (1...1024).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw CommandFailure.refused("A password has 1 to 1024 bytes and no NUL; nothing was changed.")
        }
        return Secret(text.utf8)
    }

    private static func readHidden(_ prompt: String) -> String? {
        try? FileHandle.standardError.write(contentsOf: Data(prompt.utf8))
        var shown = termios()
        tcgetattr(STDIN_FILENO, &shown)
        var hidden = shown
        // Ctrl-C comes as a character, or it would leave the terminal without echo.
        hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            try? FileHandle.standardError.write(contentsOf: Data("\n".utf8))
        }
        return readLine(strippingNewline: true)
    }
}

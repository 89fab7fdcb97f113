import Foundation
import GatewayCore
import GatewaySupport

/// Reads a new password: twice without echo from a terminal, once from a pipe. The command line is never used, because
/// other users of the machine can read it.
enum PasswordPrompt {
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

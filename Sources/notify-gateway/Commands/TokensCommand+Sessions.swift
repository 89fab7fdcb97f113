import ArgumentParser
import Foundation
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

extension TokensCommand {
    /// `tokens list`: lists the sessions.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the sessions that tokens belong to.",
            discussion: """
                Queries the running gateway. If none runs, uses its ledger. Tokens that were not issued for a password \
                have no session and are not listed anywhere.

                Example: notify-gateway tokens list --user alice --config gateway.yaml
                """)

        @Option(help: "List only sessions of this user.") var user: String?
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.performAndPrint(
                ControlRequest("tokens list", user.map { [.init("user", .string($0))] } ?? []),
                columns: [
                    .init("user", "USER"), .init("session", "SESSION"), .init("device", "DEVICE"),
                    .init("authenticator", "AUTHENTICATOR"), .init("began", "BEGAN"), .init("renewed", "RENEWED"),
                    .init("ends", "ENDS"),
                ])
        }
    }

    /// `tokens revoke`: revokes a user's access, a session or a token.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke all tokens of a user, of a session, or one token.",
            discussion: """
                With --user, everything that was granted to the user until now is revoked, including registrations; a \
                user who knows the password can log in again. With --session, that session ends. With neither, one \
                token is read from standard input: its session ends, or the token alone if it has none. The token's \
                signature is not verified. Takes effect at once and is recorded with your uid. Prints the numbers of ended sessions and registrations, and \
                exits 1 if a user had none. If no gateway runs, changes its ledger.

                Examples:
                  notify-gateway tokens revoke --user alice --config gateway.yaml
                  notify-gateway tokens revoke < stolen-token
                """)

        @Option(help: "Revoke everything of this user.") var user: String?
        // One session id in 64 begins with a hyphen.
        @Option(parsing: .unconditional, help: "Revoke the session of this id.") var session: String?
        @OptionGroup var gateway: ControlOption

        func validate() throws {
            guard user == nil || session == nil else { throw ValidationError("Give one of --user and --session.") }
        }

        func run() async throws {
            let (arguments, named) = try target()
            let note = user == nil && session == nil ? " The token's signature was not verified." : ""
            var ended: JSONValue?
            let fault = try await gateway.perform(ControlRequest("tokens revoke", arguments)) { ended = $0 }
            if let fault { throw fault }
            // The gateway says which user the name means.
            let what = user == nil ? named : ended?["user"]?.string.map { "all of \($0)" } ?? named
            guard let sessions = ended?["sessions"]?.integer, let devices = ended?["registrations"]?.integer else {
                return Console.printMessage("Revoked: \(what.printable).\(note)")
            }
            if sessions == 0, devices == 0 {
                throw CommandFailure.refused(
                    "Nothing to revoke: \(what.printable) has no session and no registration. Tokens without a session "
                        + "that were issued until now are rejected from now on.")
            }
            Console.printMessage(
                "Revoked: \(what.printable): \(Self.count(sessions, "session")), "
                    + "\(Self.count(devices, "registration")).\(note)")
        }

        private static func count(_ number: Int64, _ noun: String) -> String {
            "\(number) \(noun)\(number == 1 ? "" : "s")"
        }

        private func target() throws -> (arguments: [JSONValue.Member], what: String) {
            if let user { return ([.init("user", .string(user))], "all of \(user)") }
            if let session { return ([.init("session", .string(session))], "session \(session)") }
            if Console.isInteractive { Console.printMessage("Paste the token, then press Ctrl-D.") }
            let input = FileHandle.standardInput.readData(ofLength: 8192)
            let text = String(decoding: input, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard let claims = Self.claims(of: text), let user = claims["sub"]?.string,
                let id = claims["jti"]?.string, let end = claims["exp"]?.integer
            else { throw CommandFailure.refused("Standard input contains no token.") }
            if let session = claims["sid"]?.string {
                return ([.init("session", .string(session))], "session \(session) of \(user)")
            }
            // A minute for clocks that differ; at most the last second that RFC 3339 can express.
            let until = WallTime(seconds: min(max(0, end), 253_402_300_739) + 60)
            return (
                [
                    .init("user", .string(user)), .init("token", .string(id)),
                    .init("until", .string(until.description)),
                ], "token \(id) of \(user)"
            )
        }

        /// Returns the claims of an unverified token, which only select what is revoked.
        private static func claims(of token: String) -> JSONValue? {
            let parts = token.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let bytes = Base64.decode(Array(parts[1].utf8).span, .url) else { return nil }
            return try? JSONParser().parse(bytes.span)
        }
    }
}

import ArgumentParser
import Foundation
import GatewayCore
import GatewayServer

extension TokensCommand {
    /// `tokens list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List who is logged in: the sessions that tokens belong to.",
            discussion: """
                Asks the running gateway; where none runs, works on its ledger. Tokens that were not got with a password are of no
                session, and nobody keeps a list of them.

                Example: notify-gateway tokens list --user alice --config gateway.yaml
                """)

        @Option(help: "Only this user's.") var user: String?
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.printEither(
                ControlRequest("tokens list", user.map { [.init("user", .string($0))] } ?? []),
                columns: [
                    .init("user", "USER"), .init("session", "SESSION"), .init("device", "DEVICE"),
                    .init("authenticator", "AUTHENTICATOR"), .init("began", "BEGAN"), .init("renewed", "RENEWED"),
                    .init("ends", "ENDS"),
                ])
        }
    }

    /// `tokens revoke`.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take tokens back: a user's all, a session's, or one.",
            discussion: """
                With --user, everything that the user was granted up to now ends, registrations too; whoever knows the password
                logs in again. With --session, that session ends. With neither, one token is read from standard input: its session
                ends, or where it is of none, the token itself. Counts at once, and is recorded with your uid. Says how many
                sessions and registrations it ended, and exits 1 where a user had none. Where no gateway runs, works on its
                ledger.

                Examples:
                  notify-gateway tokens revoke --user alice --config gateway.yaml
                  notify-gateway tokens revoke < stolen-token
                """)

        @Option(help: "Everything of this user.") var user: String?
        // One id in 64 begins with a hyphen.
        @Option(parsing: .unconditional, help: "The session of this id.") var session: String?
        @OptionGroup var gateway: ControlOption

        func validate() throws {
            guard user == nil || session == nil else { throw ValidationError("Give one of --user and --session.") }
        }

        func run() async throws {
            let (arguments, what) = try target()
            var ended: JSONValue?
            let fault = try await gateway.askEither(ControlRequest("tokens revoke", arguments)) { ended = $0 }
            if let fault { throw fault }
            guard let sessions = ended?["sessions"]?.integer, let devices = ended?["registrations"]?.integer else {
                return Console.complain("Revoked: \(what.printable).")
            }
            if sessions == 0, devices == 0 {
                throw CommandFailure.refused(
                    "Nothing was there to end: \(what.printable) is no session and no registration. Tokens without a session "
                        + "that were issued up to now are refused from now on.")
            }
            Console.complain(
                "Revoked: \(what.printable): \(Self.count(sessions, "session")), \(Self.count(devices, "registration"))."
            )
        }

        private static func count(_ number: Int64, _ noun: String) -> String {
            "\(number) \(noun)\(number == 1 ? "" : "s")"
        }

        private func target() throws -> (arguments: [JSONValue.Member], what: String) {
            if let user { return ([.init("user", .string(user))], "all of \(user)") }
            if let session { return ([.init("session", .string(session))], "session \(session)") }
            if Console.isInteractive { Console.complain("The token, and then Ctrl-D:") }
            let input = FileHandle.standardInput.readData(ofLength: 8192)
            let text = String(decoding: input, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard let claims = Self.claims(of: text), let user = claims["sub"]?.string,
                let id = claims["jti"]?.string, let end = claims["exp"]?.integer
            else { throw CommandFailure.refused("Standard input holds no token.") }
            if let session = claims["sid"]?.string {
                return ([.init("session", .string(session))], "session \(session) of \(user)")
            }
            return (
                [
                    .init("user", .string(user)), .init("token", .string(id)),
                    .init("until", .number(String(end.addingReportingOverflow(60).partialValue))),
                ], "token \(id) of \(user)"
            )
        }

        /// What an unverified token says of itself: enough to name what is to be taken back.
        private static func claims(of token: String) -> JSONValue? {
            let parts = token.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let bytes = Base64.decode(Array(parts[1].utf8).span, .url) else { return nil }
            return try? JSONParser().parse(bytes.span)
        }
    }
}

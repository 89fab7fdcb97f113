import ArgumentParser
import GatewayCore
import GatewayServer
import HMACToken

extension TokensCommand {
    /// `tokens inspect`: what a token says, and what the configured keys say of it.
    struct Inspect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what is in a token, and whether it is good.",
            discussion: """
                Reads the token from standard input; on a command line every user of the machine could read it. Judges it by the
                configured keys as the gateway does, but for revocation, of which the running gateway alone knows. Exits 1 where
                it is not good, and says why.

                Example: notify-gateway tokens inspect --config gateway.yaml < token.txt
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var results: ResultOption

        func run() async throws {
            let settings = try file.settings(of: HMACTokenPlugin.self)
            let inspector: TokenInspector
            do {
                inspector = try TokenInspector(settings, names: ConfigurationFile.names(in: file.config))
            } catch {
                throw CommandFailure.refused(error.description)
            }
            if Console.isInteractive { Console.complain("Paste the token, then press Return.") }
            let text = readLine(strippingNewline: true) ?? ""
            let token = Secret(text.utf8.drop { $0 == UInt8(ascii: " ") }.prefix { $0 > UInt8(ascii: " ") })
            let inspection = inspector.inspect(token, at: Clocks.system.wall())
            try say(inspection)
            if case .failure(let fault) = inspection.verdict {
                throw CommandFailure.refused("The token is not good: \(fault).".printable)
            }
        }

        private func say(_ inspection: TokenInspection) throws {
            if results.json { return try results.say(TokenReport(inspection).object) }
            try results.say(
                TokenReport(inspection).rows,
                columns: [.init("part", "PART"), .init("name", "NAME"), .init("value", "VALUE")])
        }
    }
}

import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import HMACToken

extension TokensCommand {
    /// `tokens inspect`: prints the content of a token and verifies it with the configured keys.
    struct Inspect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the content of a token, and whether it is valid.",
            discussion: """
                Reads the token from standard input, because other users of the machine can read command lines. \
                Verifies it with the configured keys as the gateway does, except for revocation, which only the \
                running gateway knows. Exits 1 with the reason if the token is not valid.

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
            if Console.isInteractive { Console.printMessage("Paste the token, then press Return.") }
            let text = readLine(strippingNewline: true) ?? ""
            let token = Secret(text.utf8.drop { $0 == UInt8(ascii: " ") }.prefix { $0 > UInt8(ascii: " ") })
            let inspection = inspector.inspect(token, at: Clocks.system.wall())
            try print(inspection)
            if case .failure(let fault) = inspection.result {
                throw CommandFailure.refused("The token is not valid: \(fault).".printable)
            }
        }

        private func print(_ inspection: TokenInspection) throws {
            if results.json { return try results.print(TokenReport(inspection).object) }
            try results.print(
                TokenReport(inspection).rows,
                columns: [.init("part", "PART"), .init("name", "NAME"), .init("value", "VALUE")])
        }
    }
}

import ArgumentParser
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import Logging
import NotifyBackend
import StaticUsers

/// `demo`: runs a gateway with the embedded backend in a temporary directory.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Run the gateway in front of the embedded backend, with users alice and bob.",
        discussion: """
            All files are in a temporary directory that is removed at the end. The passwords are the users' names, so \
            that the clients of the notify-users tutorial work with it. For that reason, it listens on loopback only.

            Example: notify-gateway demo --listen 127.0.0.1:8080
            """)

    @Option(help: "The address to listen on: a loopback address and a port; for port 0 the system assigns one.")
    var listen = "127.0.0.1:8080"

    @Option(help: "The backend to imitate: classic, core or net6.")
    var profile: BackendFlavor = .classic

    @Option(
        help: "What is behind the gateway: a notify-users backend, or a notification hub without a backend.")
    var upstream = DemoUpstream.backend

    func validate() throws {
        guard let address = Self.address(listen), address.isLocal else {
            throw ValidationError(
                "--listen \(listen) is not a loopback address and a port, such as 127.0.0.1:8080 or localhost:8080."
            )
        }
    }

    /// Parses an address, or `localhost` and a port.
    private static func address(_ text: String) -> ListenAddress? {
        ListenAddress(text.hasPrefix("localhost:") ? "127.0.0.1:" + text.dropFirst(10) : text)
    }

    func run() async throws {
        let address = Self.address(listen)?.description ?? listen
        let directory: DemoDirectory
        do {
            directory = try DemoDirectory(listen: address, profile: profile.rawValue, upstream: upstream)
        } catch {
            throw CommandFailure.refused("The demo cannot create its files: \(OperatorMessage.of(error))")
        }
        defer { directory.remove() }
        let (configuration, problems) = ConfigurationFile.load(directory.configurationPath, catalog: .all)
        guard let configuration else { throw ValidationError(problems.map(\.description).joined(separator: "\n")) }
        let server = GatewayServer(configuration: configuration, logger: .server(configuration.log)) { started in
            // The gateway keeps running even if the guide cannot be printed.
            try? Console.printResult(DemoGuide(started: started, directory: directory, upstream: upstream).text)
        }
        try await server.runReportingProblems()
    }
}

/// What is behind the gateway of a demo.
enum DemoUpstream: String, ExpressibleByArgument, CaseIterable {
    case backend
    case hub
}

/// The text that a demo prints: commands to try, and the location of its files.
///
/// The text is a shell script: everything but the commands is a comment without quotation marks, each command works
/// from any directory, and no line is longer than 79 characters where the temporary directory has a short name. So
/// the text can be pasted in whole or in part.
struct DemoGuide {
    let started: StartedGateway
    let directory: DemoDirectory
    let upstream: DemoUpstream

    /// The name of the platform and the handle of bob's phone. Behind a hub it is one with Android, which backends of the
    /// tutorial do not reach any more.
    private var phone: (platform: String, handle: String) {
        switch upstream {
        case .backend: ("apns", "0DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE3")
        case .hub: ("gcm", "demo-fcm-token_of-bobs-phone:APA91b0DE3")
        }
    }

    var text: String {
        let gateway: String
        let curl: String
        switch started.listeners.first {
        case .unix(let path):
            curl = "curl -sS --unix-socket \(Self.quoted(path))"
            gateway = "http://localhost"
        case .tcp?, nil:
            curl = "curl -sS"
            gateway = "http://\(started.listeners.first.map(\.description) ?? "")"
        }
        let (platform, handle) = phone
        let backend = "127.0.0.1:\(started.embeddedBackendPort ?? 0)"
        // The push of a secure send contains only an id, by which bob's app reads the text.
        let secure =
            upstream == .hub
            ? """

            # 5. alice sends a push with only an id, by which the app reads the text:
            \(curl) -u alice:alice -X POST -H 'Content-Type: application/json' \\
              '\(gateway)/api/notifications?pns=\(platform)&to_tag=bob&secure=true' \\
              -d '"For your eyes only"' &&
            id=$(\(curl) -u bob:bob '\(gateway)/api/notifications' |
              grep -o '"id":[0-9]*' | head -1 | cut -d: -f2) &&
            \(curl) -u bob:bob "\(gateway)/api/notifications/$id"

            """ : ""
        return """
            # The gateway listens on \(gateway),
            # the embedded \(upstream.rawValue) behind it on \(backend).
            # Users: alice and bob; the password of each is the name.
            # Everything is in \(directory.path) until Ctrl-C.
            # All of this can be pasted into another terminal, line by line or at once.

            # 1. The phone of bob registers:
            handle=\(handle)
            id=$(\(curl) -u bob:bob -X POST \\
              "\(gateway)/api/register?handle=$handle" | tr -d '"') &&
            \(curl) -u bob:bob -X PUT "\(gateway)/api/register/$id" \\
              -H 'Content-Type: application/json' -w 'registered: %{http_code}\\n' \\
              -d "{\\"Platform\\":\\"\(platform)\\",\\"Handle\\":\\"$handle\\",\\"Tags\\":[]}"

            # 2. alice notifies bob:
            \(curl) -u alice:alice -X POST -H 'Content-Type: application/json' \\
              '\(gateway)/api/notifications?pns=\(platform)&to_tag=bob' \\
              -d '"He said "hi" & left"' -w 'sent: %{http_code}\\n'

            # 3. What the phone received:
            handle=\(handle)
            curl -sS "http://\(backend)/inbox/$handle" -w '\\n'

            # 4. Who notified bob, from the journal:
            \(Self.quoted(directory.programPath)) audit who-notified bob \\
              --config \(Self.quoted(directory.configurationPath))
            \(secure)
            # Who notified whom, in a browser: http://\(started.console?.description ?? "")
            # Log in as alice, who may make changes, or bob.

            # The journal is in \(directory.path)/journal. Health:
            curl -sS http://\(started.admin)/health/ready

            """
    }

    /// Returns a path as one word of a shell.
    private static func quoted(_ path: String) -> String {
        let plain = path.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || "/._-".contains($0) }
        return plain ? path : "'" + path.replacing("'", with: #"'\''"#) + "'"
    }
}

import Foundation
import GatewayTesting

/// A service that alone knows its accounts, and the authenticator that queries it. The password of each account is its
/// name.
protocol AccountService: Sendable {
    /// The entry of the authenticator in the configuration.
    var authenticator: String { get }

    /// Ends an account for good.
    func remove(_ user: String) throws

    /// Makes the service unreachable.
    func stop() async
}

/// An HTTP service for `forward-auth`.
final class HTTPAccountService: AccountService {
    /// The behaviour towards status queries.
    enum Mood: Sendable {
        case reporting, failing, silent
    }

    private struct State: Sendable {
        var removed: Set<String> = []
        var mood = Mood.reporting
        var queries = 0
    }

    private let state: AwaitableValue<State>
    private let server: ScriptedServer

    static func start() async throws -> HTTPAccountService {
        let state = AwaitableValue(State())
        return HTTPAccountService(state, try await ScriptedServer.start { Self.respond(to: $0, state) })
    }

    private init(_ state: AwaitableValue<State>, _ server: ScriptedServer) {
        self.state = state
        self.server = server
    }

    var authenticator: String {
        let url = "http://127.0.0.1:\(server.port)"
        return
            "forward-auth: { url: \"\(url)/verify\", status-url: \"\(url)/status\", kinds: [password], timeout: 60s }"
    }

    func remove(_ user: String) { state.withLock { _ = $0.removed.insert(user) } }

    func set(_ mood: Mood) { state.withLock { $0.mood = mood } }

    /// Returns once the service has received as many status queries in all.
    func waitForQueries(_ count: Int) async { await state.wait { $0.queries >= count } }

    func stop() async { await server.stop() }

    private static func respond(
        to request: ScriptedServer.Request, _ state: AwaitableValue<State>
    ) -> [ScriptedServer.Step] {
        if let user = request.target.split(separator: "/status?user=").first, request.target.hasPrefix("/status?") {
            let mood = state.withLock { state in
                state.queries += 1
                return state.mood
            }
            switch mood {
            case .silent: return []
            case .failing: return [.write(ScriptedServer.response("503 Service Unavailable"))]
            case .reporting:
                let line = state.current.removed.contains(String(user)) ? "404 Not Found" : "200 OK"
                return [.write(ScriptedServer.response(line, "X-Forwarded-User: \(user)\r\n"))]
            }
        }
        let pair = request.values("Authorization").first.flatMap { Data(base64Encoded: String($0.dropFirst(6))) }
        let parts = pair.map { String(decoding: $0, as: UTF8.self).split(separator: ":") } ?? []
        guard parts.count == 2, parts[0] == parts[1], !state.current.removed.contains(String(parts[0])) else {
            return [.write(ScriptedServer.response("401 Unauthorized"))]
        }
        return [.write(ScriptedServer.response("200 OK", "X-Forwarded-User: \(parts[0])\r\n"))]
    }
}

/// The Python example of `external-process`.
final class PythonAccountService: AccountService {
    /// The path of python3, or nil on a machine without it.
    static let interpreter = ["/usr/bin/python3", "/usr/local/bin/python3"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private static let script = TestData.package.appending(path: "plugins/ExternalProcess/Examples/authenticator.py")
        .path

    private let directory: TestFiles
    private let process: Process

    /// Starts the example with these users, in the directory.
    init(_ users: [String], in directory: TestFiles) throws {
        self.directory = directory
        for user in users {
            try directory.write(user, to: "password")
            try Self.run([
                "add", directory.path + "/users.json", user, "--cost", "256", "--password-file",
                directory.path + "/password",
            ])
        }
        process = try Self.make(["serve", directory.path + "/users.json", directory.path + "/auth.sock"])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // The script prints a line as soon as it listens. Empty output means that it exited.
        guard !output.fileHandleForReading.availableData.isEmpty else {
            throw GatewayUnderTest.StartFailure(description: "the example exited")
        }
    }

    let authenticator = "external-process: { socket: auth.sock, kinds: [password], status: true, timeout: 60s }"

    func remove(_ user: String) throws { try Self.run(["remove", directory.path + "/users.json", user]) }

    func stop() async { end() }

    deinit { end() }

    private func end() {
        guard process.isRunning else { return }
        // Not SIGTERM: the child inherited the signal mask of a test thread, which may block it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func run(_ arguments: [String]) throws {
        let process = try make(arguments)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw GatewayUnderTest.StartFailure(description: "the example's command failed")
        }
    }

    private static func make(_ arguments: [String]) throws -> Process {
        guard let interpreter else { throw GatewayUnderTest.StartFailure(description: "no python3") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: interpreter)
        process.arguments = [script] + arguments
        return process
    }
}

import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ExternalProcess

@Suite("The conformance run finds")
struct ConformanceTests {
    private func faults(
        maximumWait: Duration = .seconds(30), login: ExternalProcessConformance.Login? = nil,
        _ script: @escaping @Sendable (ScriptedProcess.Seen) -> [ScriptedProcess.Move]
    ) async throws -> [String] {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket, script)
        var results: [ConformanceResult] = []
        let isGood = await ExternalProcessConformance(socket: directory.socket, maximumWait: maximumWait, login: login)
            .run { results.append($0) }
        await process.stop()
        #expect(isGood == results.allSatisfy(\.hasPassed))
        return results.filter { !$0.hasPassed }.map(\.description)
    }

    /// The response of a conforming process to a frame after the hello.
    private static func reject(_ seen: ScriptedProcess.Seen) -> [ScriptedProcess.Move] {
        guard seen.text("type") == "request", seen.text("id") != nil, let kind = seen.text("kind") else {
            return [.close]
        }
        if kind == "password", seen.text("user") == nil || seen.text("password") == nil { return [.close] }
        return [ScriptedProcess.verdict(on: seen, #""verdict":"rejected""#)]
    }

    @Test("A process that accepts every credential")
    func acceptsEverybody() async throws {
        let faults = try await faults(maximumWait: .milliseconds(200)) { seen in
            [ScriptedProcess.verdict(on: seen, #""verdict":"accepted","user":"x""#)]
        }
        #expect(faults.contains { $0.hasSuffix("accepted an invalid credential") })
    }

    @Test("A process that responds with another id")
    func otherID() async throws {
        let faults = try await faults(maximumWait: .milliseconds(200)) { _ in
            [.say(#"{"type":"verdict","id":"1","verdict":"rejected"}"#)]
        }
        #expect(faults.contains { $0.hasSuffix("wrongRequestID") })
    }

    @Test("A process that is silent, that closes, or that does not exist")
    func absent() async throws {
        let silent = try await faults(maximumWait: .milliseconds(50)) { _ in [] }
        #expect(!silent.isEmpty)
        let closing = try await faults { _ in [.close] }
        #expect(closing.contains { $0.hasSuffix("closed instead of sending a verdict") })
        var results: [ConformanceResult] = []
        let isGood = await ExternalProcessConformance(socket: "/tmp/nothing-\(UInt32.random(in: 0 ... .max))")
            .run { results.append($0) }
        #expect(!isGood)
        #expect(results.count == 1)
        #expect(results.first?.fault?.hasPrefix("cannot connect") == true)
    }

    @Test("A process that responds where it must close")
    func lenient() async throws {
        let faults = try await faults(maximumWait: .milliseconds(200)) { seen in
            [ScriptedProcess.verdict(on: seen, #""verdict":"rejected""#)]
        }
        #expect(faults.contains { $0.contains("closes on a request without an id") })
        #expect(faults.contains { $0.contains("instead of closing") })
    }

    @Test("A process that does not accept the given login")
    func login() async throws {
        let login = ExternalProcessConformance.Login(user: "alice", password: Secret("secret".utf8))
        let faults = try await faults(maximumWait: .seconds(30), login: login, Self.reject)
        #expect(faults.contains("FAILED  accepts the given login: did not accept it"))
    }
}

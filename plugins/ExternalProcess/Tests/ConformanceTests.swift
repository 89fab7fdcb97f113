import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ExternalProcess

@Suite("The conformance run finds")
struct ConformanceTests {
    private func faults(
        maximumWait: Duration = .seconds(30), login: ExternalProcessConformance.Login? = nil,
        accounts: [String] = [], hello: String = ScriptedProcess.hello,
        _ script: @escaping @Sendable (ScriptedProcess.Seen) -> [ScriptedProcess.Move]
    ) async throws -> [String] {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket, hello: hello, script)
        var results: [ConformanceResult] = []
        let isGood = await ExternalProcessConformance(
            socket: directory.socket, maximumWait: maximumWait, login: login,
            accounts: accounts.compactMap(ExternalProcessConformance.Account.init)
        )
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

    /// Returns the faults in the status queries of a process of version 2 that reports every account alike.
    private func statusFaults(_ members: String, maximumWait: Duration = .seconds(30)) async throws -> [String] {
        try await faults(maximumWait: maximumWait, hello: ScriptedProcess.secondHello) { seen in
            guard seen.text("type") == "status" else { return Self.reject(seen) }
            guard seen.text("id") != nil, seen.text("user") != nil else { return [.close] }
            return members.isEmpty ? [] : [ScriptedProcess.status(on: seen, members)]
        }.filter { $0.contains("status") || $0.contains("absent") }
    }

    @Test("A process that reports unknown accounts as anything but absent, reports nothing, or reports no status")
    func statuses() async throws {
        #expect(try await statusFaults(#""status":"absent""#) == [])
        for members in [
            #""status":"valid","groups":[]"#, #""status":"disabled""#, #""status":"unavailable""#,
        ] {
            let faults = try await statusFaults(members)
            #expect(
                faults.contains(
                    "FAILED  reports an unknown account as absent: did not report an unknown account as absent"))
            #expect(faults.count >= 5)
        }
        for members in [#""status":"ended""#, #""status":true"#, #""status":"valid","groups":"all""#, #""state":1"#] {
            let faults = try await statusFaults(members)
            #expect(faults.contains { $0.hasSuffix("malformedStatus") })
        }
        let silent = try await statusFaults("", maximumWait: .milliseconds(100))
        #expect(silent.contains("FAILED  reports an unknown account as absent: did not send a status in time"))
    }

    @Test("A process that reports another status than the given one, or speaks version 1")
    func givenAccounts() async throws {
        let accounts = ["alice=valid", "bob=absent", "carol=expired", "d=e=disabled", "=valid", "x", "x=gone"]
        let faults = try await faults(accounts: accounts, hello: ScriptedProcess.secondHello) { seen in
            guard seen.text("type") == "status" else { return Self.reject(seen) }
            let isGiven = ["alice", "carol", "d=e"].contains(seen.text("user"))
            guard seen.text("id") != nil, seen.text("user") != nil else { return [.close] }
            return [ScriptedProcess.status(on: seen, isGiven ? #""status":"valid""# : #""status":"absent""#)]
        }
        #expect(faults.contains("FAILED  reports the status of the given accounts: reported \"carol\" as valid"))
        let first = try await self.faults(accounts: ["alice=valid"], Self.reject)
        #expect(first.contains { $0.hasPrefix("FAILED  reports the status of the given accounts") })
        // Without a given account, no status is required.
        #expect(try await self.faults(Self.reject).allSatisfy { !$0.contains("status") })
    }
}

import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import GatewayTesting
import Testing

/// Many devices behind one address that log in through PAM.
@Suite(
    "Devices behind one address",
    .enabled(if: PAMModules.matrix != nil && SystemTools.compiler != nil, "pam_matrix or a C compiler is not installed")
)
struct SharedAddressTests {
    private static let devices = 200
    /// The full run exceeds the lifetime of the password cache, so that PAM verifies correct passwords again.
    private static let seconds = TestRun.count(full: 75, otherwise: 3)
    /// Accounts of this machine. A small machine has fewer than 20.
    private static let users: [String] = {
        let lines = (try? String(contentsOfFile: "/etc/passwd", encoding: .utf8))?.split(separator: "\n") ?? []
        let names = lines.compactMap { line -> String? in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 2, fields[2] != "0", UserName(canonical: String(fields[0])) != nil else { return nil }
            return String(fields[0])
        }
        return Array(names.prefix(20))
    }()

    @Test("200 devices with old passwords lock nobody out, and PAM verifies each at most once")
    func oldPasswords() async throws {
        try #require(Self.users.count >= 10)
        let stack = try PAMStack()
        let note = "auth optional \(try stack.misbehavingModule()) note \(stack.path)/asked"
        try stack.useMatrix(Self.users, before: note)
        let text = """
            authenticators:
              - pam: { service: \(PAMStack.service), service-directory: \(stack.path), minimum-uid: 1, queue: 400 }
            connections: { per-address: 1000 }
            """
        let asked = try await ConfiguredGateway.run(
            text, in: try TestFiles(), catalog: PluginCatalog([TestPAMPlugin.self])
        ) {
            port in
            let client = try RawClient(port: port)
            for user in Self.users {
                #expect(try await client.call("GET", "/auth/whoami", as: user, password: "right").status == 200)
            }
            let statuses = try await Self.day(client)
            print("Old passwords: \(statuses.devices); \(Self.users.count) users: \(statuses.users)")
            #expect(statuses.users == [200: Self.users.count * Self.seconds])
            #expect(Set(statuses.devices.keys).isSubset(of: [401, 429]))
            #expect(statuses.devices.values.reduce(0, +) == Self.devices * Self.seconds)
            return try stack.text(of: "asked").split(separator: "\n")
        }
        let counts = Dictionary(grouping: asked, by: { $0 }).mapValues(\.count)
        print("PAM verified \(asked.count) passwords; former users: \(counts.filter { $0.key.hasPrefix("former") })")
        // PAM verifies a correct password once, and again after each minute.
        let good = 1 + Self.seconds / 60
        for device in 0..<Self.devices {
            let user = Self.owner(of: device)
            let count = counts[Substring(user), default: 0]
            #expect(count <= (Self.users.contains(user) ? 1 + good : 1), "\(user)")
        }
    }

    /// Returns the user of a device: each tenth device has a current user, the others have former users.
    private static func owner(of device: Int) -> String {
        device % 10 == 0 && device / 10 < users.count ? users[device / 10] : "former\(device)"
    }

    /// Sends a call of each device and each user once a second, and returns the number of responses by status.
    private static func day(_ client: RawClient) async throws -> (devices: [Int: Int], users: [Int: Int]) {
        let start = ContinuousClock.now
        func call(_ user: String, _ password: String, at part: Double, _ count: Int) async throws -> [Int] {
            var statuses: [Int] = []
            for second in 0..<count {
                // The sleep sets the rate of the calls, on which the login throttle depends.
                try await Task.sleep(until: start + .seconds(second) + .seconds(part))
                statuses.append(try await client.call("GET", "/auth/whoami", as: user, password: password).status)
            }
            return statuses
        }
        return try await withThrowingTaskGroup(of: (isUser: Bool, statuses: [Int]).self) { group in
            for device in 0..<devices {
                let (user, part) = (owner(of: device), Double(device) / Double(devices))
                group.addTask { (false, try await call(user, "old \(device)", at: part, seconds)) }
            }
            for (number, user) in users.enumerated() {
                let part = Double(number) / Double(users.count)
                group.addTask { (true, try await call(user, "right", at: part, seconds)) }
            }
            var counts = (devices: [Int: Int](), users: [Int: Int]())
            for try await (isUser, statuses) in group {
                for status in statuses {
                    if isUser { counts.users[status, default: 0] += 1 } else { counts.devices[status, default: 0] += 1 }
                }
            }
            return counts
        }
    }
}

import Foundation
import GatewayCore
import GatewayServer
import GatewayTesting
import Testing

/// Many devices behind one address, through the whole gateway to PAM.
@Suite(
    "Behind one address",
    .enabled(if: PAMModules.matrix != nil && SystemTools.compiler != nil, "pam_matrix or a C compiler is not installed")
)
struct SharedAddressTests {
    private static let devices = 200
    /// The full run is longer than an accepted password is remembered, so that PAM is asked about good ones again.
    private static let seconds = TestRun.count(full: 75, otherwise: 3)
    /// Users must be accounts of the machine, of which a small one has fewer than 20.
    private static let users: [String] = {
        let lines = (try? String(contentsOfFile: "/etc/passwd", encoding: .utf8))?.split(separator: "\n") ?? []
        let names = lines.compactMap { line -> String? in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 2, fields[2] != "0", UserName(canonical: String(fields[0])) != nil else { return nil }
            return String(fields[0])
        }
        return Array(names.prefix(20))
    }()

    @Test("200 devices with old passwords keep nobody out, and cost PAM one question each at most")
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
        print("PAM was asked \(asked.count) times, about former users \(counts.filter { $0.key.hasPrefix("former") })")
        // A good password is asked about at first, and again each minute.
        let good = 1 + Self.seconds / 60
        for device in 0..<Self.devices {
            let user = Self.owner(of: device)
            let count = counts[Substring(user), default: 0]
            #expect(count <= (Self.users.contains(user) ? 1 + good : 1), "\(user)")
        }
    }

    /// Every tenth device belongs to somebody who works, the others to people who have left.
    private static func owner(of device: Int) -> String {
        device % 10 == 0 && device / 10 < users.count ? users[device / 10] : "former\(device)"
    }

    /// Each device and each user calls once a second; how they were answered.
    private static func day(_ client: RawClient) async throws -> (devices: [Int: Int], users: [Int: Int]) {
        let start = ContinuousClock.now
        func call(_ user: String, _ password: String, at part: Double, _ count: Int) async throws -> [Int] {
            var statuses: [Int] = []
            for second in 0..<count {
                // The pace of the calls: what a minute and a second let through is what is tested.
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

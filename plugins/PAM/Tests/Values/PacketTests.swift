import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import PAM

@Suite("Packets")
struct PacketTests {
    private static let request = WorkerRequest(
        operation: .login, service: "notify-gateway", user: "b\u{F6}b@example.com", remoteHost: "2001:db8::1",
        password: Secret("correct horse".utf8))
    private static let workerResult = WorkerResult(
        authentication: PAMCode(0), account: PAMCode(13), user: "alice",
        entry: .found(.init(uid: 4_000_000_000, groups: Set(["dispatch", "sales"].compactMap(GroupName.init)))))

    private static func bytes(_ request: WorkerRequest, _ nonce: Nonce) throws -> [UInt8] {
        guard let packet = request.packet(nonce) else { throw SystemTools.Failure(description: "no packet") }
        return Array(packet.bytes)
    }

    private static func isNone(_ packet: [UInt8]) -> Bool {
        packet.withUnsafeBytes { WorkerRequest.read($0)?.nonce } == nil
    }

    @Test("A decoded request equals the encoded one, with a NUL after the password")
    func requests() throws {
        let nonce = Nonce()
        let packet = try Self.bytes(Self.request, nonce)
        let (read, readNonce) = try #require(packet.withUnsafeBytes(WorkerRequest.read))
        #expect(readNonce == nonce)
        #expect(read.operation == .login)
        #expect(read.service == Self.request.service)
        #expect(read.user == Self.request.user)
        #expect(read.remoteHost == Self.request.remoteHost)
        #expect(read.password.isEqual(to: Secret("correct horse\u{0}".utf8)))
    }

    @Test("An account check has no password")
    func status() throws {
        let request = WorkerRequest(
            operation: .accountStatus, service: "s", user: "u", remoteHost: "::1", password: Secret([]))
        let packet = try Self.bytes(request, Nonce())
        let (read, _) = try #require(packet.withUnsafeBytes(WorkerRequest.read))
        #expect(read.operation == .accountStatus)
        #expect(read.password.count == 0)
    }

    @Test("A truncated or extended request, another version, and an extra NUL are rejected")
    func malformedRequests() throws {
        let packet = try Self.bytes(Self.request, Nonce())
        for count in 0..<packet.count {
            #expect(Self.isNone(Array(packet.prefix(count))))
        }
        #expect(Self.isNone(packet + [0]))
        var other = packet
        other[0] = 1
        #expect(Self.isNone(other))
        other = packet
        other[1] = 3
        #expect(Self.isNone(other))
        other = packet
        other[packet.count - 5] = 0
        #expect(Self.isNone(other))
        other = packet
        other[23] = 0
        #expect(Self.isNone(other))
    }

    @Test(
        "A decoded response equals the encoded one",
        arguments: [
            WorkerResponse.workerResult(workerResult),
            .workerResult(WorkerResult(authentication: PAMCode(7), account: nil, user: "", entry: .absent)),
            .workerResult(WorkerResult(authentication: nil, account: PAMCode(-1), user: "x", entry: .unreadable)),
            .workerResult(
                WorkerResult(
                    authentication: PAMCode(0), account: PAMCode(7), user: "x", entry: .absent,
                    facts: [.commandInAuth, .expired])),
            .rejection(.otherService), .rejection(.tooManyGroups), .invalidStack("/etc/pam.d/x:3: …"),
        ])
    func answers(_ answer: WorkerResponse) {
        let nonce = Nonce()
        let packet = answer.packet(nonce)
        #expect(packet.withUnsafeBytes { WorkerResponse.read($0, to: nonce) } == answer)
        #expect(packet.withUnsafeBytes { WorkerResponse.read($0, to: Nonce()) } == nil)
        for count in 0..<packet.count {
            #expect(Array(packet.prefix(count)).withUnsafeBytes { WorkerResponse.read($0, to: nonce) } == nil)
        }
        #expect((packet + [0]).withUnsafeBytes { WorkerResponse.read($0, to: nonce) } == nil)
    }

    @Test("An account with too many groups, and a too long user name, encode as a refusal")
    func tooLong() {
        let groups = Set((0..<3000).compactMap { GroupName("g\($0)" + String(repeating: "x", count: 58)) })
        var workerResult = Self.workerResult
        workerResult.entry = .found(.init(uid: 1000, groups: groups))
        let nonce = Nonce()
        func read(_ workerResult: WorkerResult) -> WorkerResponse? {
            WorkerResponse.workerResult(workerResult).packet(nonce).withUnsafeBytes {
                WorkerResponse.read($0, to: nonce)
            }
        }
        #expect(read(workerResult) == .rejection(.tooManyGroups))
        workerResult = Self.workerResult
        workerResult.user = String(repeating: "x", count: 70_000)
        #expect(read(workerResult) == .rejection(.unreadableUser))
    }

    @Test("Changed bytes never trap and never decode as the same findings")
    func changedBytes() throws {
        let nonce = Nonce()
        let answer = WorkerResponse.workerResult(Self.workerResult).packet(nonce)
        let request = try Self.bytes(Self.request, nonce)
        // The byte after the nonce holds the changes to the worker, which are not part of the workerResult.
        for index in answer.indices where index != 2 + Nonce.count {
            for bit in 0..<8 {
                var changed = answer
                changed[index] ^= 1 << bit
                let read = changed.withUnsafeBytes { WorkerResponse.read($0, to: nonce) }
                #expect(read != .workerResult(Self.workerResult))
            }
        }
        for index in request.indices {
            for bit in 0..<8 {
                var changed = request
                changed[index] ^= 1 << bit
                _ = changed.withUnsafeBytes(WorkerRequest.read)
            }
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<80, using: &generator)
            let noise = [1, 1] + nonce.bytes + (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = noise.withUnsafeBytes { WorkerResponse.read($0, to: nonce) }
            _ = noise.withUnsafeBytes(WorkerRequest.read)
        }
    }

    @Test("A request longer than the limits is not encoded")
    func unsendable() {
        func fits(_ user: Int, _ password: Int) -> Bool {
            let request = WorkerRequest(
                operation: .login, service: "s", user: String(repeating: "u", count: user), remoteHost: "::1",
                password: Secret([UInt8](repeating: 0x78, count: password)))
            switch request.packet(Nonce()) {
            case .some: return true
            case .none: return false
            }
        }
        #expect(!fits(513, 1))
        #expect(!fits(1, 1025))
        #expect(fits(512, 1024))
    }
}

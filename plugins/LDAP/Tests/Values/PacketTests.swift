import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import LDAP

@Suite("Packets of ldap")
struct PacketTests {
    private static func request(
        _ operation: DirectoryRequest.Operation = .login, user: String = "b\u{F6}b", password: String = "correct horse"
    ) -> DirectoryRequest {
        DirectoryRequest(
            operation: operation,
            server: DirectoryServer(
                url: "ldaps://x", usesStartTLS: false, authorities: "/ca.pem", bindDN: "cn=gateway",
                bindPassword: Secret("service".utf8), timeout: 5000),
            search: AccountSearch(
                base: "dc=example", scope: .oneLevel, userAttribute: "uid", accountFilter: "(a=b)", groupBase: "ou=g",
                groupAttribute: "", groupFilter: "(member={dn})", groupName: "cn"),
            filter: "(uid=b)", user: user, password: Secret(password.utf8))
    }

    private static let findings: DirectoryFindings = {
        var findings = DirectoryFindings(entries: 1, names: ["alice", "a"], bind: BindResult(code: 49, detail: 0x533))
        findings.isUsable = false
        findings.attributes.values = [.shadowExpire: "1", .userAccountControl: "514"]
        findings.groups = Set(["staff", "sales"].compactMap(GroupName.init))
        return findings
    }()

    private static func bytes(_ request: DirectoryRequest, _ nonce: Nonce = Nonce()) -> [UInt8]? {
        switch request.packet(nonce) {
        case .some(let buffer): Array(buffer.bytes)
        case .none: nil
        }
    }

    private static func read(_ packet: [UInt8]) -> DirectoryRequest? {
        packet.withUnsafeBytes { DirectoryRequest.read($0)?.request }
    }

    @Test("A decoded request equals the encoded one")
    func requests() throws {
        let sent = Self.request()
        let packet = try #require(Self.bytes(sent))
        let read = try #require(Self.read(packet))
        #expect(read.operation == .login)
        #expect(read.server.isSame(as: sent.server))
        #expect(read.search == sent.search)
        #expect(read.filter == sent.filter)
        #expect(read.user == sent.user)
        #expect(read.password.isEqual(to: sent.password))
        let status = try #require(Self.bytes(Self.request(.accountStatus, password: "")))
        #expect(Self.read(status)?.operation == .accountStatus)
    }

    @Test("A login without a password, and an account check with one, are not decoded")
    func passwords() throws {
        #expect(Self.read(try #require(Self.bytes(Self.request(password: "")))) == nil)
        #expect(Self.read(try #require(Self.bytes(Self.request(.accountStatus)))) == nil)
    }

    @Test("Truncated, extended and changed requests never trap, and fields beyond their bounds are not encoded")
    func malformedRequests() throws {
        let packet = try #require(Self.bytes(Self.request()))
        for count in packet.indices { #expect(Self.read(Array(packet.prefix(count))) == nil) }
        #expect(Self.read(packet + [0]) == nil)
        for index in packet.indices {
            for bit in 0..<8 {
                var changed = packet
                changed[index] ^= 1 << bit
                _ = Self.read(changed)
            }
        }
        #expect(Self.bytes(Self.request(user: String(repeating: "u", count: 2049))) == nil)
        #expect(Self.bytes(Self.request(password: String(repeating: "u", count: 1025))) == nil)
        let longest = try #require(
            Self.bytes(
                Self.request(
                    user: String(repeating: "u", count: 2048), password: String(repeating: "u", count: 1024))))
        #expect(longest.count < DirectoryRequest.maximumLength)
    }

    @Test(
        "A decoded response equals the encoded one, and no part of it decodes",
        arguments: [
            DirectoryResponse.findings(findings), .findings(DirectoryFindings()),
            .fault(DirectoryFault(step: .serviceBind, code: -1)), .fault(DirectoryFault(step: .tooManyGroups)),
        ])
    func responses(_ response: DirectoryResponse) {
        let nonce = Nonce()
        let packet = response.packet(nonce)
        func read(_ packet: [UInt8]) -> DirectoryResponse? {
            packet.withUnsafeBytes { DirectoryResponse.read($0, to: nonce) }
        }
        #expect(read(packet) == response)
        #expect(packet.withUnsafeBytes { DirectoryResponse.read($0, to: Nonce()) } == nil)
        for count in packet.indices { #expect(read(Array(packet.prefix(count))) == nil) }
        #expect(read(packet + [0]) == nil)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            let count = Int.random(in: 0..<80, using: &generator)
            _ = read([1, 1] + nonce.bytes + (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
    }

    @Test("The longest set of groups fits into a packet, and a longer one is a fault")
    func groups() {
        func read(_ count: Int) -> DirectoryResponse? {
            var findings = Self.findings
            findings.groups = Set(
                (0..<count).compactMap { number in
                    let text = "\(number)"
                    return GroupName(text + String(repeating: "x", count: 64 - text.count))
                })
            let nonce = Nonce()
            return DirectoryResponse.findings(findings).packet(nonce).withUnsafeBytes {
                DirectoryResponse.read($0, to: nonce)
            }
        }
        guard case .findings(let findings) = read(DirectorySession.maximumGroups) else {
            Issue.record("no findings")
            return
        }
        #expect(findings.groups.count == DirectorySession.maximumGroups)
        #expect(read(3000) == .fault(DirectoryFault(step: .tooManyGroups)))
    }
}

import GatewayCore
import GatewaySupport
import NIOCore
import Testing

@testable import GatewayHTTP

@Suite struct PeerTests {
    @Test(
        "A socket address becomes a peer",
        arguments: [
            ("192.0.2.1", Peer.Address.v4(0xC000_0201), "192.0.2.1", false),
            ("127.9.9.9", .v4(0x7F09_0909), "127.9.9.9", true),
            ("::1", .v6(0, 1), "::1", true),
            ("::", .v6(0, 0), "::", false),
            ("2001:db8::1:2", .v6(0x2001_0DB8_0000_0000, 0x0001_0002), "2001:db8::1:2", false),
            ("::ffff:127.0.0.1", .v4(0x7F00_0001), "127.0.0.1", true),
            ("::ffff:192.0.2.1", .v4(0xC000_0201), "192.0.2.1", false),
        ])
    func aSocketAddressBecomesAPeer(
        _ text: String, _ address: Peer.Address, _ shown: String, _ isThisMachine: Bool
    ) throws {
        let peer = try #require(Peer(SocketAddress(ipAddress: text, port: 1)))
        #expect(peer.address == address)
        #expect(peer.text == shown)
        #expect(peer.isThisMachine == isThisMachine)
    }

    @Test("A Unix socket counts as this machine") func aUnixSocketCountsAsThisMachine() throws {
        let peer = try #require(Peer(SocketAddress(unixDomainSocketPath: "/tmp/x")))
        #expect(peer.address == .local && peer.isThisMachine)
    }

    @Test("Connections count by address and network") func connectionsCountByAddressAndNetwork() {
        var limits = ListenerConfiguration.Connections()
        limits.perPeer = 1
        limits.total = 4
        let connectionLimit = ConnectionLimit(limits)
        let first = Peer(address: .v6(1, 1), text: "")
        let sameNetwork = Peer(address: .v6(1, 2), text: "")
        let local = Peer(address: .local, text: "")
        #expect(connectionLimit.admit(first) == .admitted)
        #expect(connectionLimit.admit(sameNetwork) == .tooManyOfPeer)
        for _ in 0..<3 { #expect(connectionLimit.admit(local) != .full) }
        #expect(connectionLimit.admit(Peer(address: .v4(1), text: "")) == .full)
        connectionLimit.release(first)
        #expect(connectionLimit.admit(sameNetwork) == .admittedNearlyFull)
    }

    @Test("An IPv6 network may have as many connections as four peers")
    func anIPv6NetworkMayHaveAsManyConnectionsAsFourPeers() {
        var limits = ListenerConfiguration.Connections()
        limits.perPeer = 2
        let connectionLimit = ConnectionLimit(limits)
        func peer(_ subnetwork: UInt64) -> Peer { Peer(address: .v6(0x2001_0DB8_0000_0000 + subnetwork, 1), text: "") }
        for subnetwork in UInt64(0)..<8 { #expect(connectionLimit.admit(peer(subnetwork)) == .admitted) }
        #expect(connectionLimit.admit(peer(8)) == .tooManyOfPeer)
        #expect(connectionLimit.admit(peer(0x100)) == .admitted)
        connectionLimit.release(peer(3))
        #expect(connectionLimit.admit(peer(8)) == .admitted)
        #expect(connectionLimit.admit(peer(9)) == .tooManyOfPeer)
    }
}

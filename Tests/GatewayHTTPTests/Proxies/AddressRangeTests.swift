import GatewayCore
import Testing

@testable import GatewayHTTP

@Suite("Address ranges")
struct AddressRangeTests {
    private func peer(_ text: String) throws -> Peer.Address {
        text == "unix" ? .local : try #require(Peer(ipAddress: text)).address
    }

    @Test(
        "A range contains its addresses and no others",
        arguments: [
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"), ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("192.0.2.1/32", "192.0.2.1", "192.0.2.0"), ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("192.0.2.128/25", "192.0.2.200", "192.0.2.127"), ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("2001:db8::/64", "2001:db8::ffff:0:0:1", "2001:db8:0:1::"), ("::1", "::1", "::2"),
            ("2001:db8::8000:0:0:0/65", "2001:db8::8000:0:0:1", "2001:db8::1"), ("::/0", "2001:db8::1", "10.0.0.1"),
            ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"), ("192.0.2.1", "::ffff:192.0.2.1", "::1"),
            ("unix", "unix", "127.0.0.1"), ("127.0.0.1", "127.0.0.1", "unix"),
        ])
    func contains(_ range: String, _ inside: String, _ outside: String) throws {
        let range = try #require(AddressRange(range))
        #expect(range.contains(try peer(inside)))
        #expect(!range.contains(try peer(outside)))
    }

    @Test(
        "Invalid ranges are rejected",
        arguments: [
            "", "localhost", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0", "/8",
            "2001:db8::1/32", "::/129", "[::1]", "fe80::1%eth0", "10.0.0.0/-1", "10.0.0.0/0008", "*", "unix/8",
        ])
    func isNone(_ text: String) { #expect(AddressRange(text) == nil) }
}

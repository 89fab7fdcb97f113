import Testing

@testable import GatewayHTTP

@Suite struct UpstreamAddressTests {
    @Test(
        "A valid address is parsed",
        arguments: [
            ("http://127.0.0.1:5000", "http://127.0.0.1:5000"), ("http://localhost", "http://localhost:80"),
            ("HTTP://a_b-c.d:1/", "http://a_b-c.d:1"), ("http://[::1]:5000", "http://[::1]:5000"),
            ("https://a", "https://a:443"), ("Https://[::1]:1", "https://[::1]:1"),
            ("unix:/run/backend.sock", "unix:/run/backend.sock"),
        ])
    func isRead(_ text: String, _ description: String) {
        #expect(UpstreamAddress(text)?.description == description)
    }

    @Test(
        "An invalid address is rejected",
        arguments: [
            "", "http://", "http://:80", "https://a/b", "httpss://a", "a:80", "http://a:", "http://a:0",
            "http://a:65536",
            "http://a:1x",
            "http://a/b", "http://a?b", "http://u@a", "http://a b", "http://[::1", "http://[]:1", "http://[a/b]",
            "unix:",
            "unix:relative", "unix:/" + String(repeating: "x", count: 107), "http://a:+1",
        ])
    func isRejected(_ text: String) { #expect(UpstreamAddress(text) == nil) }
}

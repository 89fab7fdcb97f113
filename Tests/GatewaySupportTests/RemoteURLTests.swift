import GatewaySupport
import Testing

@Suite("URLs of services")
struct RemoteURLTests {
    @Test(
        "A text that is not the URL of a service has a reason",
        arguments: [
            ("", "is not a URL"), ("example.com", "is not a URL"), ("https://a b/", "is not a URL"),
            ("https://\u{E9}/", "is not a URL"), ("https://" + String(repeating: "a", count: 2048), "is not a URL"),
            ("https://user@a/", "must not contain a user or password"),
            ("https://:x@a/", "must not contain a user or password"), ("https://a/#x", "must not have a fragment"),
            ("https:///x", "has no host"), ("https://a:0/", "has an invalid port"),
            ("https://a:65536/", "has an invalid port"),
        ])
    func faults(_ text: String, _ reason: String) {
        let fault = #expect(throws: RemoteURL.Fault.self) { try RemoteURL(text) }
        #expect(fault?.description == reason)
    }

    @Test("The parts of a URL are those that are written")
    func parts() throws {
        let url = try RemoteURL("HTTPS://Login.example:8443/a?b=c")
        #expect(url.scheme == "https" && url.host == "Login.example" && url.hasQuery && !url.isLoopback)
        #expect(try RemoteURL("http://[::1]:80").isLoopback)
    }

    @Test(
        "Only literal addresses and localhost are this machine",
        arguments: [
            ("localhost", true), ("LOCALHOST", true), ("127.0.0.1", true), ("127.255.1.2", true), ("::1", true),
            ("[::1]", true), ("localhost.example", false), ("127.0.0.1.example", false), ("127.1", false),
            ("128.0.0.1", false), ("::2", false), ("::ffff:127.0.0.1", false), ("[::1", false), ("", false),
        ])
    func loopback(_ host: String, _ expected: Bool) {
        #expect(LoopbackHost.matches(host) == expected)
    }
}

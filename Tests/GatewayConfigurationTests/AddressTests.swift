import GatewayConfiguration
import Testing

@Suite("Addresses")
struct AddressTests {
    @Test(
        "A listener accepts an IP address with a port or a Unix socket path",
        arguments: [
            ("127.0.0.1:8080", ListenAddress.tcp(host: "127.0.0.1", port: 8080)),
            ("[::1]:0", .tcp(host: "::1", port: 0)),
            ("unix:/run/gateway.sock", .unix(path: "/run/gateway.sock")),
            ("localhost:80", nil), ("127.0.0.1", nil), ("127.0.0.1:65536", nil), ("::1:80", nil),
            ("unix:relative", nil),
            ("[127.0.0.1]:80", nil), ("", nil), (":80", nil), ("unix:/" + String(repeating: "a", count: 108), nil),
        ] as [(String, ListenAddress?)])
    func listening(text: String, address: ListenAddress?) {
        #expect(ListenAddress(text) == address)
    }

    @Test("An address is local if only this host can reach it")
    func local() {
        #expect(ListenAddress("127.8.0.1:80")?.isLocal == true)
        #expect(ListenAddress("[::1]:80")?.isLocal == true)
        #expect(ListenAddress("unix:/a")?.isLocal == true)
        #expect(ListenAddress("0.0.0.0:80")?.isLocal == false)
        #expect(ListenAddress("[::]:80")?.isLocal == false)
    }

    @Test(
        "The `Host` field of a backend contains its host, and its port if it is not the default",
        arguments: [
            ("http://backend:5000", "backend:5000"), ("http://backend", "backend"), ("http://[::1]:80", "[::1]"),
            ("https://backend", "backend"), ("https://backend:443", "backend"), ("https://backend:80", "backend:80"),
            ("https://[::1]", "[::1]"), ("HTTPS://a:1/", "a:1"),
            ("unix:/run/backend.sock", "localhost"), ("embedded", "localhost"),
        ])
    func hostField(url: String, field: String) {
        #expect(BackendAddress(url)?.hostField == field)
    }

    @Test(
        "An invalid backend address is rejected",
        arguments: [
            "https://", "https://backend:0", "https://user@backend", "http://user@backend", "http://backend/api",
            "ftp://a", "", "backend:5000",
        ])
    func noBackend(url: String) { #expect(BackendAddress(url) == nil) }
}

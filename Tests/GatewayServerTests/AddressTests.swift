import GatewayServer
import Testing

@Suite("Addresses")
struct AddressTests {
    @Test(
        "What a listener may be bound to",
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

    @Test("Local is what nobody else can reach")
    func local() {
        #expect(ListenAddress("127.8.0.1:80")?.isLocal == true)
        #expect(ListenAddress("[::1]:80")?.isLocal == true)
        #expect(ListenAddress("unix:/a")?.isLocal == true)
        #expect(ListenAddress("0.0.0.0:80")?.isLocal == false)
        #expect(ListenAddress("[::]:80")?.isLocal == false)
    }

    @Test(
        "What the backend's Host field says",
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
        "What is no backend",
        arguments: [
            "https://", "https://backend:0", "https://user@backend", "http://user@backend", "http://backend/api",
            "ftp://a", "", "backend:5000",
        ])
    func noBackend(url: String) { #expect(BackendAddress(url) == nil) }
}

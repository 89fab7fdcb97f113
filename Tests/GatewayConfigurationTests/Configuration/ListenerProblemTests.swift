import Testing

@Suite("Conflicting addresses")
struct ListenerProblemTests {
    private func problems(_ text: String) -> [String] {
        ConfigurationText.problems(
            """
            \(text)
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            """)
    }

    @Test(
        "Two listeners on the same address are reported",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1:8080", true), ("127.0.0.1:8080", "0.0.0.0:8080", true),
            ("[::]:8080", "127.0.0.1:8080", true), ("unix:/run/a.sock", "unix:/run/a.sock", true),
            ("127.0.0.1:8080", "127.0.0.2:8080", false), ("127.0.0.1:0", "127.0.0.1:0", false),
            ("unix:/run/a.sock", "unix:/run/b.sock", false),
        ])
    func listeners(first: String, second: String, isTaken: Bool) {
        let found = problems("listen: [{ address: \"\(first)\" }, { address: \"\(second)\" }]")
        #expect(found.contains { $0.contains("listen[1].address: \(second) is already used by listen[0]") } == isTaken)
    }

    @Test("An admin listener on the address of a listener or on a public address is reported")
    func admin() {
        let taken = problems(
            "listen: [{ address: \"127.0.0.1:8080\" }]\nadmin: { address: \"127.0.0.1:8080\" }")
        #expect(taken.contains { $0.contains("admin.address: 127.0.0.1:8080 is already used by a listener") })
        let open = problems("admin: { address: \"0.0.0.0:9090\" }")
        #expect(open.contains { $0.contains("admin.address") && $0.contains("has no authentication") })
        #expect(!problems("admin: { address: \"127.0.0.1:9090\" }").contains { $0.contains("admin") })
    }
}

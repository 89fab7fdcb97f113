import Foundation
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Holes of requests") struct RequestHoleTests {
    @Test(
        "What is missing or unknown is said, and nothing echoed", .shows(.v19), arguments: BackendFlavor.allCases)
    func parameters(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            #expect(
                try await bench.direct.call("POST", HoleBench.send(pns: "adm"), as: "eve", body: #""x""#).status == 500)
            let before = bench.gateway.seen.all.count
            let codes = [
                "?pns=adm&to_tag=bob": "unknown-platform", "?pns=&to_tag=bob": "unknown-platform",
                "?pns=mpns&to_tag=bob": "unknown-platform", "?to_tag=bob": "malformed-request",
                "?pns=apns": "malformed-request", "": "malformed-request",
                "?pns=apns&to_tag=bob&canary=1": "malformed-request",
                "?pns=apns&to_tag=bob&TO_TAG=canary": "malformed-request",
            ]
            for (query, code) in codes.sorted(by: { $0.key < $1.key }) {
                let refused = try await bench.gateway.client.call(
                    "POST", "/api/notifications\(query)", as: "eve", body: #""x""#)
                #expect(refused.status == 400 && refused.problem == code, "\(query) \(refused.text)")
                #expect(!refused.text.contains("/api") && !refused.text.contains("canary"))
            }
            #expect(bench.gateway.seen.all.count == before)
        }
    }

    @Test("There is nothing beside the calls", .shows(.v23), arguments: BackendFlavor.allCases)
    func pages(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let before = bench.gateway.seen.all.count
            for path in [
                "/", "/Help", "/api/Account/Register", "/Token", "/api/values", "/api", "/api/register/",
                "/API/REGISTER",
                "/inbox/\(HoleBench.bobs)", "/metrics", "/swagger/index.html",
            ] {
                for method in ["GET", "POST", "OPTIONS"] {
                    let refused = try await bench.gateway.client.call(method, path, as: "eve")
                    #expect([400, 404, 405].contains(refused.status), "\(method) \(path): \(refused.status)")
                }
            }
            #expect(bench.gateway.seen.all.count == before)
        }
        // What a backend says of its faults stays with the gateway.
        try await ScriptedServer.run { _ in
            .answer("HTTP/1.1 500 Oops\r\nX-Canary: 1\r\nContent-Length: 25\r\n\r\nat Canary.Controller(line)")
        } _: { port in
            try await GatewayUnderTest.run(backend: "http://127.0.0.1:\(port)", profile: flavor.rawValue) { gateway in
                let answer = try await gateway.client.call("POST", HoleBench.send(), as: "eve", body: #""x""#)
                #expect(answer.status == 502 && answer.problem == "backend-failed")
                #expect(!answer.text.contains("Canary") && answer.field("X-Canary") == nil)
            }
        }
    }

    @Test("Nobody reads a notification", .shows(.v24), arguments: BackendFlavor.allCases)
    func readNotifications(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let before = bench.gateway.seen.all.count
            for path in ["/api/notifications/1", "/api/notifications/1?x=y", "/api/Notifications/1"] {
                #expect(try await bench.gateway.client.call("GET", path, as: "bob").problem == "no-route")
            }
            #expect(try await bench.gateway.client.call("GET", "/api/notifications", as: "bob").status == 405)
            #expect(bench.gateway.seen.all.count == before)
        }
    }

    @Test("What two readers could read differently is refused", .shows(.v25), arguments: BackendFlavor.allCases)
    func ambiguity(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let twice = #"{"Platform":"apns","Handle":"\#(HoleBench.eves)","handle":"\#(HoleBench.bobs)","Tags":[]}"#
            #expect(try await bench.direct.call("PUT", bench.target(id: "7-7-7"), as: "eve", body: twice).status == 200)
            let before = bench.gateway.seen.all.count
            let id = try await bench.gateway.client.call("POST", "/api/register", as: "eve").text
                .dropFirst().dropLast()
            #expect(bench.gateway.seen.all.count == before + 1)
            let own = #"{"Platform":"apns","Handle":"\#(HoleBench.eves)","Tags":[]}"#
            for body in [
                twice, String(own.dropLast()) + #","Tags":["username:bob"]}"#, "\(own) \(own)", "// x\n\(own)",
                own.replacing("\"", with: "'"), "<Registration/>", "Platform=apns&Handle=\(HoleBench.eves)",
                own.replacing("}", with: ",}"), "\u{FEFF}\u{FEFF}\(own)", "[\(own)]",
            ] {
                let refused = try await bench.gateway.client.call("PUT", "/api/register/\(id)", as: "eve", body: body)
                #expect(refused.status == 400 && refused.problem == "malformed-request", "\(body)")
            }
            #expect(bench.gateway.seen.all.count == before + 1)
            // Another case is the same name, and is written in the one that the backend knows.
            let lower = #"{"platform":"APNS","HANDLE":"\#(HoleBench.eves)","tags":null,"extra":1}"#
            let taken = try await bench.gateway.client.call("PUT", "/api/register/\(id)", as: "eve", body: lower)
            #expect(taken.status == 200)
        }
    }
}

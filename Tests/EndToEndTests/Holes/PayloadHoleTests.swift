import Foundation
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Holes of payloads") struct PayloadHoleTests {
    /// The alert of an APNs payload that is an alert and nothing else.
    private static func alert(_ payload: String?) -> String? {
        let object = try? JSONSerialization.jsonObject(with: Data((payload ?? "").utf8)) as? [String: [String: String]]
        guard let object, object.count == 1, let aps = object["aps"], aps.count == 1 else { return nil }
        return aps["alert"]
    }

    @Test("A message adds no JSON members", .shows(.v1), arguments: BackendFlavor.allCases)
    func jsonMembers(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let body = #""x\"},\"evil\":{\"a\":\"""#
            #expect(try await bench.direct.call("POST", HoleBench.send(), as: "eve", body: body).status == 200)
            #expect(bench.arrived(at: HoleBench.bobs) == [#"{"aps":{"alert":"From eve: x"},"evil":{"a":""}}"#])
            #expect(try await bench.gateway.client.call("POST", HoleBench.send(), as: "eve", body: body).status == 200)
            let payload = bench.arrived(at: HoleBench.bobs, after: 1)
            #expect(payload.count == 1 && Self.alert(payload.first) == #"From eve: x"},"evil":{"a":""#)
        }
    }

    @Test("A message adds no XML elements", .shows(.v2), arguments: BackendFlavor.allCases)
    func xmlElements(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let client = bench.gateway.client
            #expect(try await client.register("bob", "wns", HoleBench.channel).status == 202)
            let (body, target) = (#""</text><text id='2'>evil""#, HoleBench.send(pns: "wns"))
            #expect(try await bench.direct.call("POST", target, as: "eve", body: body).status == 200)
            #expect(try await client.call("POST", target, as: "eve", body: body).status == 200)
            let payloads = bench.arrived(at: HoleBench.channel)
            try #require(payloads.count == 2)
            #expect(payloads[0].contains("</text><text id='2'>evil</text>"))
            #expect(payloads[1].contains("From eve: &lt;/text&gt;&lt;text id=&apos;2&apos;&gt;evil</text>"))
        }
    }

    @Test(
        "A name that would change a payload or an expression is nobody's", .shows(.v3),
        arguments: BackendFlavor.allCases)
    func names(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let (name, body) = ("eve||username", #""hi""#)
            #expect(try await bench.direct.call("POST", HoleBench.send(), as: name, body: body).status == 200)
            #expect(bench.arrived(at: HoleBench.bobs).last?.contains("From eve||username: hi") == true)
            let seen = bench.hub.inbox(ofHandle: HoleBench.bobs).count
            for name in [name, #"eve"},"x":{"y":""#, "<b>", "bob)", "eve,bob", "eve\u{0}"] {
                let refused = try await bench.gateway.client.call("POST", HoleBench.send(), as: name, body: body)
                #expect(refused.status == 401 && refused.problem == "credentials-rejected", "\(name)")
            }
            #expect(bench.hub.inbox(ofHandle: HoleBench.bobs).count == seen)
        }
    }

    @Test("What a client damages arrives whole", .shows(.v18), arguments: BackendFlavor.allCases)
    func damage(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let sent = [#""say "hi" now""#: #"say "hi" now"#, #""C:\x""#: #"C:\x"#, "\"caf\u{E9}\"": "café"]
            for (body, text) in sent.sorted(by: { $0.key < $1.key }) {
                let before = bench.hub.inbox(ofHandle: HoleBench.bobs).count
                let direct = try await bench.direct.call("POST", HoleBench.send(), as: "eve", body: body)
                if text != "café" {
                    // Refused, or taken and damaged.
                    let arrived = bench.arrived(at: HoleBench.bobs, after: before).first
                    #expect(direct.status != 200 || Self.alert(arrived) != "From eve: \(text)", "\(body)")
                }
                let between = bench.hub.inbox(ofHandle: HoleBench.bobs).count
                let repaired = try await bench.gateway.client.call("POST", HoleBench.send(), as: "eve", body: body)
                #expect(repaired.status == 200, "\(body)")
                #expect(Self.alert(bench.arrived(at: HoleBench.bobs, after: between).first) == "From eve: \(text)")
            }
            let before = bench.hub.inbox(ofHandle: HoleBench.bobs).count
            for body in ["hello", "", "{}", #"["x"]"#, "null"] {
                let refused = try await bench.gateway.client.call("POST", HoleBench.send(), as: "eve", body: body)
                #expect(refused.status == 400 && refused.problem == "malformed-message", "\(body)")
            }
            #expect(bench.hub.inbox(ofHandle: HoleBench.bobs).count == before)
        }
    }

    @Test("A message that no push service takes is refused", .shows(.v26), arguments: BackendFlavor.allCases)
    func oversize(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            // 27 bytes of the payload are the backend's, 10 are "From eve: " less its quotation.
            let room = 4096 - #"{"aps":{"alert":"From eve: "}}"#.utf8.count
            func send(_ client: RawClient, _ count: Int) async throws -> RawClient.Response {
                try await client.call(
                    "POST", HoleBench.send(), as: "eve", body: "\"\(String(repeating: "x", count: count))\"")
            }
            #expect(try await send(bench.direct, room + 1).status == 200)
            #expect(try await send(bench.gateway.client, room).status == 200)
            let before = bench.hub.inbox(ofHandle: HoleBench.bobs)
            #expect(before.last?.payload.utf8.count == 4096)
            let refused = try await send(bench.gateway.client, room + 1)
            #expect(refused.status == 413 && refused.problem == "payload-too-large")
            #expect(bench.hub.inbox(ofHandle: HoleBench.bobs).count == before.count)
        }
    }
}

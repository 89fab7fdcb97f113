import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import GatewayOperations

@Suite("Hosts and targets of operators' requests")
struct RequestLineCheckTests {
    /// Returns whether a request passes the check.
    private func passes(_ uri: String, hosts: [String]) throws -> Bool {
        let channel = EmbeddedChannel(handler: RequestLineCheck())
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        let fields = HTTPHeaders(hosts.map { ("Host", $0) })
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: uri, headers: fields)
        do {
            try channel.writeInbound(HTTPServerRequestPart.head(head))
        } catch is RequestLineCheck.AmbiguousTarget {
            // The rest of a rejected request goes nowhere.
            try channel.writeInbound(HTTPServerRequestPart.end(nil))
            #expect(try channel.readInbound(as: HTTPServerRequestPart.self) == nil)
            return false
        }
        return try channel.readInbound(as: HTTPServerRequestPart.self) != nil
    }

    @Test("A path with one host, or none, passes")
    func accepted() throws {
        #expect(try passes("/v1/bans", hosts: ["gateway"]))
        #expect(try passes("/", hosts: []))
    }

    @Test("Several hosts, and a target that is no path, are rejected")
    func rejected() throws {
        #expect(try !passes("/", hosts: ["gateway", "gateway"]))
        #expect(try !passes("/", hosts: ["gateway", "evil.example"]))
        for target in ["http://evil.example/", "evil.example:80", "*", ""] {
            #expect(try !passes(target, hosts: ["gateway"]))
        }
    }
}

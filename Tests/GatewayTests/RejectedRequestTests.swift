import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

/// Invalid requests of an authenticated caller. Each gets one code, and the backend receives nothing.
@Suite struct RejectedRequestTests {
    private static let id = Sample.label.text

    @Test(
        "An unknown path gets no-route",
        arguments: [
            "GET /", "GET /favicon.ico", "GET /auth", "GET /auth/whoami/", "POST /API/register", "POST /api/Register",
            "POST /api/notification", "GET /api/notifications/1", "GET /api/notifications/", "POST /api",
            "POST /api/register/",
            "PUT /api/register/", "DELETE /api/register/1-2-3/4", "GET /health/live", "GET /metrics",
            "POST /registration",
            "POST /api/register%41", "GET *", "GET x", "GET /api/register.json", "POST /api/notifications/",
        ])
    func noRoute(_ line: String) async {
        await TestGateway().expect(.noRoute, for: ReceivedRequest(line, as: "alice"))
    }

    @Test(
        "A wrong method of a known path gets method-not-allowed with the allowed methods",
        arguments: [
            ("GET /api/register", "POST"), ("PUT /api/register", "POST"), ("DELETE /api/register", "POST"),
            ("PATCH /api/register", "POST"), ("GET /api/register?id=1-2-3", "POST"), ("GET /api/notifications", "POST"),
            ("PUT /api/notifications", "POST"), ("POST /auth/whoami", "GET"), ("HEAD /auth/whoami", "GET"),
            ("GET /api/register/\(id)", "PUT, DELETE"), ("POST /api/register/\(id)", "PUT, DELETE"),
            ("get /auth/whoami", "GET"),
        ])
    func aWrongMethodGetsTheAllowedMethods(_ line: String, _ allow: String) async {
        let response = await TestGateway().expect(.methodNotAllowed, for: ReceivedRequest(line, as: "alice"))
        #expect(response.values("Allow") == [allow])
    }

    @Test("A path that takes ids in its query allows PUT and DELETE") func methodsOfAPathWithIDsInItsQuery() async {
        let response = await TestGateway(.core).expect(
            .methodNotAllowed, for: ReceivedRequest("GET /api/register", as: "alice"))
        #expect(response.values("Allow") == ["POST, PUT, DELETE"])
    }

    @Test(
        "A path that another server could read differently is rejected",
        arguments: [
            "/api/register/..", "/api/register/.", "/api/register/../register", "/api/./register", "/..",
            "/api//register",
            "//api/register", "/api/register//", "/api/register/%2e%2e", "/api/register/%2E", "/api%2fregister",
            "/api%2Fregister",
            "/api%5cregister", "/api\\register", "/api/register;x=1", "/api/register/1-2-3;x", "/api/register/%3b",
            "/api/register%00", "/api/register/%2500", "/api/register/%23", "/api/register/%", "/api/register/%4",
            "/api/register/%zz", "/api/register/1-2-3 ", "/api/register/\u{7F}", "/api/register/é",
            "/api/register/\u{0}",
            "/api/register/\t",
        ])
    func ambiguousPathsAreRejected(_ path: String) async {
        for method in ["PUT", "DELETE", "POST", "GET", "PATCH"] {
            await TestGateway().expect(.malformedRequest, for: ReceivedRequest("\(method) \(path)", as: "alice"))
        }
    }

    @Test(
        "An invalid id in the path is rejected",
        arguments: [
            "x", "...", "1-2", "1-2-3-4", "1-2-3333", "1-2-3%20", "%31-2-3", "-1-2-3", "1--2", "$metadata", "1-2-3'",
            "a%4a",
            "111111111111111111111-2-3",
        ])
    func anInvalidIDInThePathIsRejected(_ id: String) async {
        await TestGateway().expect(
            .malformedRequest, for: ReceivedRequest("PUT /api/register/\(id)", as: "alice", json: Sample.body()))
        await TestGateway().expect(.malformedRequest, for: ReceivedRequest("DELETE /api/register/\(id)", as: "alice"))
    }

    @Test("An id in the query is rejected when the profile does not use it")
    func anIDInTheQueryIsRejectedWhenTheProfileDoesNotUseIt() async {
        for profile in [BackendProfile.BuiltIn.classic, .net6] {
            for line in [
                "PUT /api/register?id=\(Self.id)", "DELETE /api/register?id=\(Self.id)", "DELETE /api/register?id=..",
                "PUT /api/register/\(Self.id)?id=\(Self.id)", "DELETE /api/register/\(Self.id)?id=\(Self.id)",
            ] {
                await TestGateway(profile).expect(
                    .malformedRequest,
                    for: ReceivedRequest(line, as: "alice", json: line.hasPrefix("PUT") ? Sample.body() : ""))
            }
        }
    }

    @Test(
        "A request without exactly one id is rejected",
        arguments: [
            "PUT /api/register", "PUT /api/register?id=", "PUT /api/register?id=..",
            "PUT /api/register?id=1-2-3&id=1-2-3",
            "PUT /api/register?id=1-2-3&ID=1-2-4", "PUT /api/register/\(id)?id=\(id)",
            "PUT /api/register/\(id)?id=1-2-3",
            "PUT /api/register?id=1-2-3%2f..", "PUT /api/register?handle=x&id=1-2-3", "DELETE /api/register",
            "DELETE /api/register/\(id)?id=1-2-3", "DELETE /api/register?id=1-2-3%00",
        ])
    func aRequestWithoutExactlyOneIDIsRejected(_ line: String) async {
        await TestGateway(.core).expect(
            .malformedRequest, for: ReceivedRequest(line, as: "alice", json: line.hasPrefix("PUT") ? Sample.body() : "")
        )
    }

    @Test(
        "An invalid query of a send is rejected",
        arguments: [
            "", "?", "?pns=apns", "?to_tag=bob", "?pns=apns&to_tag=", "?pns=apns&to_tag=bob&to_tag=carol",
            "?pns=apns&to_tag=bob&TO_TAG=bob", "?pns=apns&pns=wns&to_tag=bob", "?pns=apns&to_tag=bob&x=1",
            "?pns=apns&to_tag=bob&",
            "?&pns=apns&to_tag=bob", "?pns=apns;to_tag=bob", "?pns=apns&to_tag=bob;x", "?pns=apns&to_tag=bob%",
            "?pns=apns&to_tag=%4",
            "?pns=apns&to_tag=%zz", "?pns=apns&to_tag=%ff", "?pns=apns&to_tag=%C0%80", "?pns=apns&to_tag=bob%00",
            "?pns=apns&to_tag=bob||username:carol", "?pns=apns&to_tag=bob%7C%7Cusername%3Acarol",
            "?pns=apns&to_tag=x||!y",
            "?pns=apns&to_tag=!x", "?pns=apns&to_tag=a%26%26b", "?pns=apns&to_tag=(bob)",
            "?pns=apns&to_tag=username:bob",
            "?pns=apns&to_tag=from:alice", "?pns=apns&to_tag=bob+", "?pns=apns&to_tag=bob%20",
            "?pns=apns&to_tag=bob,carol",
            "?pns=apns&to_tag=$UserId:{bob}", "?pns=apns&to_tag=bob%2562", "?pns=apns&to_tag=b%C3%B6b",
            "?pns=apns&to_tag=audience:on%7C%7Ccall",
            "?pns=apns&to_tag=*", "?pns=apns&to_tag=bob%0d%0aX-Evil:1", "?pns=apns&&to_tag=bob",
            "?=&pns=apns&to_tag=bob",
            "?pns=apns&to%5ftag=bob&to_tag=carol",
        ])
    func invalidQueriesOfSends(_ query: String) async {
        await TestGateway().expect(
            .malformedRequest, for: ReceivedRequest("POST /api/notifications\(query)", as: "alice", json: "\"hi\""))
    }

    @Test(
        "An unknown platform of a send is rejected",
        arguments: [
            (BackendProfile.BuiltIn.classic, "mpns"), (.classic, "adm"), (.classic, ""), (.classic, "apns%00"),
            (.classic, "windows"),
            (.core, "mpns"), (.net6, "mpns"), (.net6, "baidu"),
        ])
    func anUnknownPlatformOfASendIsRejected(_ profile: BackendProfile.BuiltIn, _ word: String) async {
        await TestGateway(profile).expect(.unknownPlatform, for: Sample.send(pns: word))
    }

    @Test(
        "An unknown platform of a registration is rejected",
        arguments: [
            (BackendProfile.BuiltIn.classic, "adm"), (.classic, ""), (.classic, "apns "), (.core, "x"), (.net6, "mpns"),
        ])
    func anUnknownPlatformOfARegistrationIsRejected(_ profile: BackendProfile.BuiltIn, _ word: String) async {
        await TestGateway(profile).expect(.unknownPlatform, for: Sample.put(Sample.body(word)))
    }

    @Test(
        "An invalid body of a registration is rejected",
        arguments: [
            "", "x", "[]", "null", "\"x\"", "{", "{}", "{\"Platform\":\"apns\"}", "{\"Handle\":\"\(Sample.apns)\"}",
            "{\"Platform\":1,\"Handle\":\"\(Sample.apns)\"}", "{\"Platform\":\"apns\",\"Handle\":null}",
            "{\"Platform\":\"apns\",\"Handle\":[\"\(Sample.apns)\"]}", Sample.body(tags: "\"x\""),
            Sample.body(tags: "{}"),
            Sample.body(tags: "1"), Sample.body(tags: "[1]"), Sample.body(tags: "[null]"),
            Sample.body(tags: "[[\"a\"]]"),
            Sample.body(tags: "[\"a\",]"), Sample.body() + "x", Sample.body(tags: "[],\"tags\":[]"),
            Sample.body(tags: "[],\"PLATFORM\":\"wns\""), Sample.body(tags: "[],\"x\":1,\"X\":1"),
            "/**/" + Sample.body(),
            Sample.body().replacing("\"", with: "'"), "<DeviceRegistration/>", "Platform=apns&Handle=x",
            Sample.body(tags: "[\"\\ud800\"]"), Sample.body(tags: "[[[[[[[[[]]]]]]]]]"),
            Sample.body(tags: "[" + String(repeating: "\"topic:a\",", count: 70) + "\"topic:b\"]"),
        ])
    func invalidBodiesOfRegistrations(_ body: String) async {
        await TestGateway().expect(.malformedRequest, for: Sample.put(body))
    }

    @Test(
        "An unusable handle of a registration is rejected with a hint",
        arguments: [
            ("apns", "x"), ("apns", ""), ("apns", String(Sample.apns.dropLast())), ("apns", Sample.fcm),
            ("gcm", "short"),
            ("apns", "{LENGTH=32,BYTES=0X01}"), ("apns", "(null)"), ("gcm", "x' or 1 eq 1 or 'a' eq '"),
            ("wns", "https://evil.example/x"),
            ("wns", "http://127.0.0.1/"), ("wns", "https://u@db5.notify.windows.com/"), ("mpns", Sample.wns),
        ])
    func unusableHandlesOfRegistrations(_ platform: String, _ handle: String) async throws {
        let response = await TestGateway().expect(.handleUnusable, for: Sample.put(Sample.body(platform, handle)))
        #expect(try #require(response.json?["detail"]?.string).contains("andle"))
    }

    @Test(
        "An unusable handle of a reservation is rejected",
        arguments: [
            "abc", "%27%20or%201%20eq%201", "https%3A%2F%2Fevil.example%2Fx", "%00", "(null)",
            String(Sample.apns.dropLast()),
        ])
    func unusableHandlesOfReservations(_ handle: String) async {
        await TestGateway().expect(
            .handleUnusable, for: ReceivedRequest("POST /api/register?handle=\(handle)", as: "alice"))
    }

    @Test(
        "An unknown or duplicate parameter is rejected",
        arguments: [
            "POST /api/register?x=1", "POST /api/register?handle=\(Sample.apns)&handle=\(Sample.apns)",
            "POST /api/register?id=1-2-3",
            "POST /api/register?handle=&Handle=", "GET /auth/whoami?x", "GET /auth/whoami?user=bob",
            "DELETE /api/register/\(id)?x=1", "PUT /api/register/\(id)?force=1",
        ])
    func anUnknownOrDuplicateParameterIsRejected(_ line: String) async {
        await TestGateway().expect(
            .malformedRequest, for: ReceivedRequest(line, as: "alice", json: line.hasPrefix("PUT") ? Sample.body() : "")
        )
    }

    @Test(
        "A body of a request that takes none is rejected",
        arguments: ["POST /api/register", "DELETE /api/register/\(id)", "GET /auth/whoami"])
    func aBodyOfARequestThatTakesNoneIsRejected(_ line: String) async {
        await TestGateway().expect(.malformedRequest, for: ReceivedRequest(line, as: "alice", json: "{}"))
    }

    @Test(
        "An unsupported media type is rejected",
        arguments: [
            "", "text/plain", "application/xml", "application/x-www-form-urlencoded",
            "application/json; charset=utf-16",
            "application/json;charset=\"utf-8", "application/json;charset=",
            "application/json;charset=utf-8;charset=utf-16",
            "application/json;charset = utf-16", "application/json;\tCHARSET=utf-7", "application/jsonp", "text/json",
            "application/json,text/plain", "multipart/form-data", "\u{FF}",
            // A separator that is one `Character` with its neighbour, and separators equivalent to ASCII.
            "application/json;x=\u{600};charset=utf-16", "application/json;\u{301}charset=utf-16",
            "application/json;charset\u{600}=utf-16", "application/json\u{37E}charset=utf-16",
            "application/json;charset=utf-8\u{301};charset=utf-16", "application/json;x=\u{E9}",
            "application/json;charset=\"utf-8\"\u{301}", "application/json;x=1\r\n;charset=utf-16",
            "application/json;x=\u{0}", "application/json;x=\u{7F}",
        ])
    func mediaTypes(_ type: String) async {
        for var request in [Sample.send(), Sample.put()] {
            request.contentType = .text(type)
            await TestGateway().expect(.unsupportedMediaType, for: request)
        }
    }

    @Test(
        "A content coding other than identity is rejected",
        arguments: ["gzip", "identity, gzip", "", "br", "identity;q=1"])
    func contentCodings(_ coding: String) async {
        for var request in [Sample.send(), Sample.put(), Sample.create, Sample.delete, Sample.whoami] {
            request.contentEncoding = .text(coding)
            await TestGateway().expect(.unsupportedMediaType, for: request)
        }
    }

    @Test("A repeated header field is rejected") func repeatedFields() async {
        for part in [\ReceivedRequest.contentType, \.contentEncoding, \.authorization] {
            for var request in [Sample.send(), Sample.put()] {
                request[keyPath: part] = .repeated
                await TestGateway().expect(.malformedRequest, for: request)
            }
        }
    }

    @Test("A body without a message text is rejected") func bodiesWithoutAMessage() async {
        for body in [
            "", " ", "hello", "\"", "'hi'", "{\"a\":1}", "[\"hi\"]", "12", "null", "true", "\"hi", "hi\"",
            "\"\\ud800\"",
        ] {
            await TestGateway().expect(.malformedMessage, for: Sample.send(body))
        }
        await TestGateway().expect(.malformedMessage, for: Sample.send("\"a\\u0001b\"", pns: "wns"))
        await TestGateway().expect(.malformedMessage, for: Sample.send("\"a\\uffffb\"", pns: "wns"))
    }

    @Test("A rejection response contains nothing of the request") func rejectionsContainNothingOfTheRequest() async {
        let response = await TestGateway().expect(
            .malformedRequest,
            for: ReceivedRequest(
                "POST /api/notifications?pns=apns&to_tag=s3ntinel%7C%7C&s3ntinel=1", as: "alice", json: "\"s3ntinel\""))
        #expect(!response.text.contains("s3ntinel"))
        #expect(response.values("Cache-Control") == ["no-store"])
    }
}

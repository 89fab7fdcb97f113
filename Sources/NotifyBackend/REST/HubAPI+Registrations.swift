import Foundation
import GatewaySupport

extension HubAPI {
    /// The largest page of a list of registrations.
    static let largestPage = 100
    private static let entryType = "application/atom+xml; type=entry; charset=utf-8"

    /// Creates or overwrites a registration. The id need not be one that the hub gave.
    func put(_ id: String, _ call: Call) throws(HubFailure) -> BackendResponse {
        let type = (call.request.contentType ?? "").lowercased().filter { $0 != " " }
        guard Self.isID(id), type.hasPrefix("application/atom+xml"), type.contains("type=entry"),
            let entry = RegistrationEntry(parsing: call.request.body)
        else { throw .badRequest }
        var version: Int?
        if let condition = call.request.fields["if-match"], condition != "*" {
            guard let stated = Self.version(condition) else { throw .badRequest }
            version = stated
        }
        return self.entry(
            of: try hub.upsert(
                id: id, platform: entry.platform, handle: entry.handle, tags: entry.tags, replacing: version),
            call)
    }

    /// Returns the registration with the id.
    func registration(_ id: String) throws(HubFailure) -> Registration {
        guard let found = hub.registrations().first(where: { $0.id == id }) else { throw .notFound }
        return found
    }

    /// Deletes a registration. The request must name its version, or any.
    func delete(_ id: String, _ call: Call) throws(HubFailure) -> BackendResponse {
        guard Self.isID(id), let condition = call.request.fields["if-match"] else { throw .badRequest }
        if condition != "*" {
            guard try registration(id).version == Self.version(condition) else { throw .changed }
        }
        try hub.delete(id: id)
        return BackendResponse(200)
    }

    /// Returns the registrations that `$filter` finds: one comparison of a handle's property with a text.
    func find(_ call: Call) throws(HubFailure) -> [Registration] {
        var words = FilterWords(text: call.query.first("$filter") ?? "")
        guard let property = words.nextFilterProperty(), words.nextWord()?.lowercased() == "eq",
            let handle = words.nextQuotedText(), words.isAtEnd
        else { throw .badRequest }
        let platforms: [String]
        switch property {
        case "devicetoken": platforms = ["apns"]
        case "fcmv1registrationid": platforms = ["fcmv1"]
        // The service finds Apple devices by this property too.
        case "channeluri": platforms = ["wns", "mpns", "apns"]
        default: throw .badRequest
        }
        return try hub.registrations(ofHandle: handle).filter { platforms.contains($0.platform) }
    }

    /// Returns one page of a list, and a token for the next one if there is more.
    func page(_ registrations: [Registration], _ call: Call) -> BackendResponse {
        let top = call.query.first("$top").map { Int($0) ?? 0 } ?? Self.largestPage
        guard (1...Self.largestPage).contains(top) else { return Self.error(400, "$top must be from 1 to 100.") }
        var rest = registrations[...]
        if let token = call.query.first("ContinuationToken") {
            guard let position = registrations.firstIndex(where: { $0.id == token }) else {
                return Self.error(400, "The continuation token is invalid.")
            }
            rest = registrations[position...]
        }
        let time = now()
        let entries = rest.prefix(top).map { registration in
            RegistrationEntry.text(
                of: registration, uri: call.uri(access.hub, "registrations/\(registration.id)"), at: time,
                isInFeed: true)
        }
        var response = BackendResponse(
            200, contentType: "application/atom+xml; type=feed; charset=utf-8",
            body: RegistrationEntry.feed(of: entries, uri: call.uri(access.hub, "registrations"), at: time))
        if let next = rest.dropFirst(top).first { response.fields["X-MS-ContinuationToken"] = next.id }
        return response
    }

    /// Returns the response with one registration.
    func entry(of registration: Registration, _ call: Call) -> BackendResponse {
        var response = BackendResponse(
            200, contentType: Self.entryType,
            body: RegistrationEntry.text(
                of: registration, uri: call.uri(access.hub, "registrations/\(registration.id)"), at: now(),
                isInFeed: false))
        response.fields["ETag"] = "W/\"\(registration.version)\""
        return response
    }

    /// Returns the number in an entity tag, `W/"3"`, `"3"` or `3`.
    private static func version(_ etag: String) -> Int? {
        Int((etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...]).filter { $0 != "\"" })
    }

    private static func isID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 3
            && parts.allSatisfy { !$0.isEmpty && $0.utf8.count <= 20 && $0.utf8.allSatisfy(\.isASCIIDigit) }
    }
}

extension FilterWords {
    /// Returns the next property name in lower case: a letter, then letters and digits.
    fileprivate mutating func nextFilterProperty() -> String? {
        guard var name = nextWord()?.lowercased() else { return nil }
        // The only property with a digit is `FcmV1RegistrationId`.
        if name == "fcmv", skip("1"), let rest = nextWord() { name += "1" + rest.lowercased() }
        return name
    }
}

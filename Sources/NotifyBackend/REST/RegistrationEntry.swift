import Foundation
import GatewaySupport

/// A registration as the hub's REST interface represents it: a description in an Atom entry.
struct RegistrationEntry: Equatable {
    /// The platform name of the registration: `apns`, `wns`, `mpns` or `fcmv1`.
    let platform: String
    /// The push handle.
    let handle: String
    /// The tags after the comma-separated list was split.
    let tags: [String]

    private static let namespace = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
    /// The kinds of descriptions: the platform, the element, and the element of the handle in it.
    private static let kinds = [
        (platform: "apns", element: "AppleRegistrationDescription", handle: "DeviceToken"),
        (platform: "wns", element: "WindowsRegistrationDescription", handle: "ChannelUri"),
        (platform: "mpns", element: "MpnsRegistrationDescription", handle: "ChannelUri"),
        (platform: "fcmv1", element: "FcmV1RegistrationDescription", handle: "FcmV1RegistrationId"),
    ]

    /// Parses an entry. Returns nil if the document is not an entry with one known description, or has no handle. A
    /// description of Google Cloud Messaging is not known: that service has ended.
    init?(parsing document: [UInt8]) {
        var tokenizer = XMLTokenizer(document)
        var path: [String] = []
        var elements: [String: String] = [:]
        do throws(XMLTokenizer.Malformed) {
            while let token = try tokenizer.next() {
                switch token {
                case .start(let name, let attributes):
                    if path == ["entry", "content"] {
                        guard elements.isEmpty, attributes["xmlns"] == Self.namespace else { return nil }
                        elements[""] = name
                    }
                    path.append(name)
                    if path.count == 4, elements.updateValue("", forKey: name) != nil { return nil }
                case .text(let part): if path.count == 4 { elements[path[3], default: ""] += part }
                case .end: path.removeLast()
                }
            }
        } catch {
            return nil
        }
        guard let kind = Self.kinds.first(where: { $0.element == elements[""] }), let handle = elements[kind.handle],
            !handle.isEmpty
        else { return nil }
        platform = kind.platform
        self.handle = handle
        tags = (elements["Tags"] ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Returns the entry of a stored registration.
    ///
    /// - Parameter uri: The URI of the registration, with its query.
    static func text(of registration: Registration, uri: String, at time: Date, isInFeed: Bool) -> String {
        let kind = kinds.first { $0.platform == registration.platform } ?? kinds[0]
        let time = time.formatted(.iso8601)
        let etag = "W/&quot;\(registration.version)&quot;"
        let meta = "xmlns:a=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\""
        let start =
            isInFeed
            ? "<entry a:etag=\"\(etag)\" \(meta)>"
            : "<entry a:etag=\"\(etag)\" xmlns=\"http://www.w3.org/2005/Atom\" \(meta)>"
        let tags = registration.tags.isEmpty ? "" : "<Tags>\(escaped(registration.tags.joined(separator: ",")))</Tags>"
        return start + "<id>\(escaped(uri))</id><title type=\"text\">\(registration.id)</title>"
            + "<published>\(time)</published><updated>\(time)</updated><link rel=\"self\" href=\"\(escaped(uri))\"/>"
            + "<content type=\"application/xml\"><\(kind.element) xmlns=\"\(namespace)\""
            + " xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\"><ETag>\(registration.version)</ETag>"
            + "<ExpirationTime>9999-12-31T23:59:59.999</ExpirationTime>"
            + "<RegistrationId>\(registration.id)</RegistrationId>\(tags)"
            + "<\(kind.handle)>\(escaped(registration.handle))</\(kind.handle)></\(kind.element)></content></entry>"
    }

    /// Returns the feed of registrations.
    static func feed(of entries: [String], uri: String, at time: Date) -> String {
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title type=\"text\">Registrations</title><id>\(escaped(uri))</id>"
            + "<updated>\(time.formatted(.iso8601))</updated><link rel=\"self\" href=\"\(escaped(uri))\"/>"
            + entries.joined() + "</feed>"
    }

    /// Returns the text as character data or as an attribute value.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}

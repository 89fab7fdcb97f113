internal import GatewayCore
internal import GatewaySupport

/// The Atom entries in which a notification hub's REST interface describes registrations.
enum HubEntry {
    /// Returns the entry that creates or overwrites the registration of one handle.
    ///
    /// The tags are the owner's `username:` tag and the permitted ones. Handles and tags have grammars without
    /// characters that XML reserves, except for `&` in a channel URI.
    static func bytes(of registration: UpstreamRegistration) -> [UInt8] {
        let service = registration.handle.service
        return [UInt8](expecting: 512 + registration.handle.text.utf8.count + 32 * registration.tags.count) { bytes in
            bytes.append(#"<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom">"#)
            bytes.append(#"<content type="application/xml"><"#)
            bytes.append(description(of: service))
            bytes.append(#" xmlns:i="http://www.w3.org/2001/XMLSchema-instance""#)
            bytes.append(
                #" xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Tags>username:"#)
            bytes.append(text: registration.owner.text)
            for tag in registration.tags {
                bytes.append(",")
                append(escaped: tag.text, to: &bytes)
            }
            bytes.append("</Tags><")
            bytes.append(handleElement(of: service))
            bytes.append(">")
            append(escaped: registration.handle.text, to: &bytes)
            bytes.append("</")
            bytes.append(handleElement(of: service))
            bytes.append("></")
            bytes.append(description(of: service))
            bytes.append("></content></entry>")
        }
    }

    /// Returns the name of the handle in filters, which is that of its element in a description.
    static func handleElement(of service: PushService) -> StaticString {
        switch service {
        case .apns: "DeviceToken"
        case .wns, .mpns: "ChannelUri"
        case .fcm: "FcmV1RegistrationId"
        }
    }

    private static func description(of service: PushService) -> StaticString {
        switch service {
        case .apns: "AppleRegistrationDescription"
        case .wns: "WindowsRegistrationDescription"
        case .mpns: "MpnsRegistrationDescription"
        case .fcm: "FcmV1RegistrationDescription"
        }
    }

    private static func append(escaped text: String, to bytes: inout ByteWriter) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes.append("&amp;")
            case UInt8(ascii: "<"): bytes.append("&lt;")
            case UInt8(ascii: ">"): bytes.append("&gt;")
            default: bytes.append(byte)
            }
        }
    }

    /// Returns the ids of the service's native registrations in a feed, in order; nil if the document is not a feed, or
    /// an entry has not exactly one registration with a valid id. Templates and the parts of installations belong to
    /// something else on the device and are left out.
    static func ids(inFeed document: some Sequence<UInt8>, of service: PushService) -> [RegistrationID]? {
        do throws(XMLTokenizer.Malformed) {
            return try readIDs(XMLTokenizer(document), of: service)
        } catch {
            return nil
        }
    }

    /// An entry's id and tags are the texts of its description's own elements, and of no element further inside.
    private static func readIDs(
        _ start: XMLTokenizer, of service: PushService
    ) throws(XMLTokenizer.Malformed) -> [RegistrationID]? {
        var tokenizer = start
        var path: [String] = []
        var ids: [RegistrationID] = []
        var values: [String: String] = [:]
        var (entries, descriptions) = (0, 0)
        while let token = try tokenizer.next() {
            switch token {
            case .start(let name, _):
                if path.isEmpty, name != "feed" { return nil }
                path.append(name)
                if path == ["feed", "entry"] { entries += 1 }
                if isDescription(path.dropLast()), values.updateValue("", forKey: name) != nil { return nil }
            case .text(let part):
                if isDescription(path.dropLast()) { values[path[4], default: ""].append(part) }
            case .end:
                if isDescription(path[...]) {
                    guard let id = values["RegistrationId"].flatMap({ RegistrationID($0) }) else { return nil }
                    descriptions += 1
                    if isNative(path[3], of: service), !isInstallation(values["Tags"]) { ids.append(id) }
                    values = [:]
                }
                path.removeLast()
            }
        }
        return descriptions == entries ? ids : nil
    }

    private static func isDescription(_ path: ArraySlice<String>) -> Bool {
        path.count == 4 && path[0] == "feed" && path[1] == "entry" && path[2] == "content"
    }

    /// Whether a registration of the kind receives the native notifications of the service. For FCM that includes one
    /// of Google Cloud Messaging, whose kind changes when it is registered anew.
    private static func isNative(_ kind: String, of service: PushService) -> Bool {
        kind == "\(description(of: service))" || (service == .fcm && kind == "GcmRegistrationDescription")
    }

    private static func isInstallation(_ tags: String?) -> Bool {
        tags?.split(separator: ",").contains { tag in
            tag.drop(while: \.isWhitespace).lowercased().hasPrefix("$installationid:")
        } ?? false
    }
}

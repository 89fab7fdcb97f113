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

    /// Returns the ids of the registrations in a feed, in order; nil if the document is not a feed, or an entry has no
    /// valid id.
    static func ids(inFeed document: some Sequence<UInt8>) -> [RegistrationID]? {
        do throws(XMLTokenizer.Malformed) {
            return try readIDs(XMLTokenizer(document))
        } catch {
            return nil
        }
    }

    /// An entry's id is the text of its description's own element `RegistrationId`, and of no element further inside.
    private static func readIDs(_ start: XMLTokenizer) throws(XMLTokenizer.Malformed) -> [RegistrationID]? {
        var tokenizer = start
        var path: [String] = []
        var ids: [RegistrationID] = []
        var text: String?
        var entries = 0
        while let token = try tokenizer.next() {
            switch token {
            case .start(let name, _):
                if path.isEmpty, name != "feed" { return nil }
                path.append(name)
                if path == ["feed", "entry"] { entries += 1 }
                if isID(path) { text = "" }
            case .text(let part):
                if isID(path) { text?.append(part) }
            case .end:
                if isID(path) {
                    guard let id = text.flatMap({ RegistrationID($0) }) else { return nil }
                    ids.append(id)
                }
                path.removeLast()
            }
        }
        return ids.count == entries ? ids : nil
    }

    private static func isID(_ path: [String]) -> Bool {
        path.count == 5 && path[4] == "RegistrationId" && path[0] == "feed" && path[1] == "entry"
            && path[2] == "content"
    }
}

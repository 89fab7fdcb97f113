internal import Foundation
internal import FoundationXML

/// Reads payloads as a device does, with Foundation's parsers instead of the product's.
public enum DevicePayload {
    /// Returns the one text of an APNs, FCM or WNS payload; nil if it is malformed or has other content.
    public static func text(in payload: String) -> String? {
        if payload.hasPrefix("<") { return ToastReader.text(in: payload) }
        guard var value = try? JSONSerialization.jsonObject(with: Data(payload.utf8)) else { return nil }
        while let object = value as? [String: Any] {
            guard object.count == 1, let name = object.keys.first, let inner = object[name],
                ["aps", "alert", "data", "message"].contains(name)
            else { return nil }
            value = inner
        }
        return value as? String
    }

    private final class ToastReader: NSObject, XMLParserDelegate {
        private var text = ""
        private var elements: [String] = []

        static func text(in payload: String) -> String? {
            let reader = ToastReader()
            let parser = XMLParser(data: Data(payload.utf8))
            parser.delegate = reader
            guard parser.parse(), reader.elements == ["toast", "visual", "binding", "text"] else { return nil }
            return reader.text
        }

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) { elements.append(name) }

        func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }
    }
}

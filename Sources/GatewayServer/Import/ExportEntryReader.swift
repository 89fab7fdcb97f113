internal import Foundation
internal import GatewayCore

#if canImport(FoundationXML)
internal import FoundationXML
#endif

/// Reads one line of an export: an Atom entry with a registration's description in it, or the description alone, as some of the
/// hub's own tools write it.
///
/// The lines are of whoever made the file. Neither declarations nor entities of their own get as far as the XML parser, and
/// what it finds is bounded.
enum ExportEntryReader {
    static func read(_ line: some Collection<UInt8>) throws(ExportEntry.Fault) -> ExportEntry {
        guard line.count <= ExportEntry.longest else { throw .tooLong }
        guard let text = String(validating: line, as: UTF8.self), !line.contains(0) else { throw .notUTF8 }
        let content = withoutDeclaration(text)
        let folded = String(content).asciiLowercased
        guard !folded.contains("<?"), !folded.contains("<!doctype"), !folded.contains("<!entity") else {
            throw .declarations
        }
        let collector = DescriptionCollector()
        let parser = XMLParser(data: Data(content.utf8))
        parser.shouldResolveExternalEntities = false
        parser.delegate = collector
        // The parser is content with a text that breaks off.
        guard parser.parse(), parser.parserError == nil, !collector.hasGivenUp, collector.isComplete else {
            throw .notXML
        }
        guard let kind = collector.kind, let id = collector.values["RegistrationId"] else { throw .notARegistration }
        let handles = DescriptionCollector.handleElements.compactMap { collector.values[$0] }
        return ExportEntry(
            kind: kind, registrationID: id.trimmed, handle: handles.first?.trimmed ?? "",
            tags: (collector.values["Tags"] ?? "").split(separator: ",").map(\.trimmed).filter { !$0.isEmpty })
    }

    /// The text without the one declaration that XML may begin with, and a byte order mark before it. It is UTF-8 by now, whatever
    /// the declaration says.
    private static func withoutDeclaration(_ text: String) -> Substring {
        var rest = text[...]
        if rest.unicodeScalars.first == "\u{FEFF}" { rest.unicodeScalars.removeFirst() }
        guard rest.hasPrefix("<?xml "), let end = rest.firstRange(of: "?>") else { return rest }
        return rest[end.upperBound...]
    }
}

/// Collects the few elements of a description that decide anything.
private final class DescriptionCollector: NSObject, XMLParserDelegate {
    static let handleElements = ["DeviceToken", "FcmV1RegistrationId", "GcmRegistrationId", "ChannelUri"]
    private static let wanted = Set(handleElements + ["RegistrationId", "Tags"])
    private static let suffix = "RegistrationDescription"
    private static let deepest = 16

    private(set) var kind: String?
    private(set) var values: [String: String] = [:]
    /// Whether there is more than one description, or an element twice, or too much of anything.
    private(set) var hasGivenUp = false
    private var path: [String] = []

    /// Whether every element has ended.
    var isComplete: Bool { path.isEmpty }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        // A prefix says nothing that the name does not.
        let name = name.split(separator: ":").last.map(String.init) ?? name
        path.append(name)
        if path.count > Self.deepest { return giveUp(parser) }
        if name.hasSuffix(Self.suffix) {
            if kind != nil { return giveUp(parser) }
            kind = name
        } else if isOfDescription, Self.wanted.contains(name) {
            if values[name] != nil { return giveUp(parser) }
            values[name] = ""
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if isOfDescription, let name = path.last, Self.wanted.contains(name) { values[name, default: ""] += string }
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        self.parser(parser, foundCharacters: String(decoding: block, as: UTF8.self))
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        _ = path.popLast()
    }

    /// Whether the last element of the path is a child of the description.
    private var isOfDescription: Bool { path.count >= 2 && path[path.count - 2].hasSuffix(Self.suffix) }

    private func giveUp(_ parser: XMLParser) {
        hasGivenUp = true
        parser.abortParsing()
    }
}

extension StringProtocol {
    /// The text without white space around it.
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}

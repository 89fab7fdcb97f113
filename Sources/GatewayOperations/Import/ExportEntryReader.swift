internal import Foundation
internal import GatewayCore
internal import GatewaySupport

#if canImport(FoundationXML)
internal import FoundationXML
#endif

/// Parses one line of an export: an Atom entry that contains a registration's description, or the description alone, as
/// some of the hub's tools write it.
///
/// The lines are untrusted. Declarations and custom entities are rejected before the XML parser runs, and the parsed
/// content is limited.
enum ExportEntryReader {
    /// Parses a line without its line feed. Throws the reason why it is not a registration.
    static func read(_ line: some Collection<UInt8>) throws(ExportEntry.Fault) -> ExportEntry {
        guard line.count <= ExportEntry.maximumLength else { throw .tooLong }
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
        // The parser accepts a truncated text, so completeness is verified separately.
        guard parser.parse(), parser.parserError == nil, !collector.hasGivenUp, collector.isComplete else {
            throw .notXML
        }
        guard let kind = collector.kind, let id = collector.values["RegistrationId"] else { throw .notARegistration }
        let handles = DescriptionCollector.handleElements.compactMap { collector.values[$0] }
        return ExportEntry(
            kind: kind, registrationID: id.trimmed, handle: handles.first?.trimmed ?? "",
            tags: (collector.values["Tags"] ?? "").split(separator: ",").map(\.trimmed).filter { !$0.isEmpty })
    }

    /// Returns the text without a byte order mark and the XML declaration. The text is UTF-8 by now, whatever the
    /// declaration states.
    private static func withoutDeclaration(_ text: String) -> Substring {
        var rest = text[...]
        if rest.unicodeScalars.first == "\u{FEFF}" { rest.unicodeScalars.removeFirst() }
        guard rest.hasPrefix("<?xml "), let end = rest.firstRange(of: "?>") else { return rest }
        return rest[end.upperBound...]
    }
}

/// Collects the elements of a description that the import uses.
private final class DescriptionCollector: NSObject, XMLParserDelegate {
    static let handleElements = ["DeviceToken", "FcmV1RegistrationId", "GcmRegistrationId", "ChannelUri"]
    private static let wanted = Set(handleElements + ["RegistrationId", "Tags"])
    private static let suffix = "RegistrationDescription"
    private static let maximumDepth = 16

    private(set) var kind: String?
    private(set) var values: [String: String] = [:]
    /// Whether the line has more than one description, a duplicate element, or too deep nesting.
    private(set) var hasGivenUp = false
    private var path: [String] = []

    /// Whether every element has ended.
    var isComplete: Bool { path.isEmpty }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        // The namespace prefix is irrelevant.
        let name = name.split(separator: ":").last.map(String.init) ?? name
        path.append(name)
        if path.count > Self.maximumDepth { return giveUp(parser) }
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
    /// The text without surrounding white space.
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}

/// One registration of a hub's export, reduced to the fields that the import uses.
struct ExportEntry: Sendable, Hashable {
    /// The name of the description element, such as `AppleRegistrationDescription`.
    var kind: String
    var registrationID: String
    var handle: String
    /// The tags without surrounding blanks. The export joins them by commas.
    var tags: [String]

    /// The reason why a line is not a registration.
    enum Fault: String, Error, Sendable, Hashable, CaseIterable {
        case tooLong = "line-too-long"
        case notUTF8 = "not-utf-8"
        case notXML = "not-xml"
        /// The line contains a declaration or a processing instruction. Neither belongs in an entry, and attacks on XML
        /// parsers use them.
        case declarations = "xml-declarations"
        case notARegistration = "not-a-registration"
    }

    /// The maximum length of a line in bytes. A registration has a handle of at most 4 KiB and 60 tags of at most 120
    /// bytes; a template adds at most 4 KiB.
    static let maximumLength = 64 << 10
}

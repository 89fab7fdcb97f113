internal import GatewayCore
internal import GatewaySupport

/// Parses registrations as the hub writes them: an Atom entry that contains a registration's description, the
/// description alone, or a feed of entries. The hub's interface names the element after the kind of the registration;
/// its export job writes an element `RegistrationDescription` with the kind in the attribute `type` of XML Schema.
///
/// The documents are untrusted. Document types, entities and processing instructions are rejected.
enum ExportEntryReader {
    /// Parses a line of an export without its line feed. Throws the reason why it is not a registration.
    static func read(_ line: some Collection<UInt8>) throws(ExportEntry.Fault) -> ExportEntry {
        guard line.count <= ExportEntry.maximumLength else { throw .tooLong }
        guard let text = String(validating: line, as: UTF8.self), !line.contains(0) else { throw .notUTF8 }
        let content = withoutDeclaration(text)
        let folded = String(content).asciiLowercased
        guard !folded.contains("<?"), !folded.contains("<!doctype"), !folded.contains("<!entity") else {
            throw .declarations
        }
        guard let document = DescribedRegistrations(content.utf8), document.descriptions.count <= 1 else {
            throw .notXML
        }
        guard let entry = document.descriptions.first?.entry else { throw .notARegistration }
        return entry
    }

    /// Parses a page of the hub's list of registrations.
    ///
    /// - Returns: The registrations in order; nil if the document is not a feed, or an entry in it is not exactly one
    ///   registration.
    static func readFeed(_ document: some Sequence<UInt8>) -> [ExportEntry]? {
        guard let document = DescribedRegistrations(document), document.root == "feed" else { return nil }
        let entries = document.descriptions.compactMap { $0.depth == 3 ? $0.entry : nil }
        return entries.count == document.descriptions.count && entries.count == document.entries ? entries : nil
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

/// The descriptions of registrations in an XML document. Prefixes of names are ignored.
private struct DescribedRegistrations {
    /// A description, and the texts of those of its own child elements that the import uses.
    struct Description {
        /// The kind of the registration, such as `AppleRegistrationDescription`.
        let kind: String
        /// The number of elements around it.
        let depth: Int
        var values: [String: String] = [:]

        /// The registration; nil without an id.
        var entry: ExportEntry? {
            guard let id = values["RegistrationId"] else { return nil }
            let handles = DescribedRegistrations.handleElements.compactMap { values[$0] }
            return ExportEntry(
                kind: kind, registrationID: id.trimmed, handle: handles.first?.trimmed ?? "",
                tags: (values["Tags"] ?? "").split(separator: ",").map(\.trimmed).filter { !$0.isEmpty })
        }
    }

    /// The name of the root element.
    private(set) var root = ""
    /// The number of `entry` elements in the root element.
    private(set) var entries = 0
    private(set) var descriptions: [Description] = []
    private var path: [String] = []

    private static let handleElements = ["DeviceToken", "FcmV1RegistrationId", "GcmRegistrationId", "ChannelUri"]
    private static let wanted = Set(handleElements + ["RegistrationId", "Tags"])
    private static let suffix = "RegistrationDescription"

    /// Parses a document. Returns nil if it is malformed, if a description contains another one, or if a description
    /// has an element twice that the import uses.
    init?(_ document: some Sequence<UInt8>) {
        do throws(XMLTokenizer.Malformed) {
            var tokenizer = XMLTokenizer(document)
            while let token = try tokenizer.next() {
                switch token {
                case .start(let name, let attributes):
                    guard begin(Self.localName(name), attributes) else { return nil }
                case .text(let part): append(part)
                case .end: path.removeLast()
                }
            }
        } catch {
            return nil
        }
    }

    private mutating func begin(_ name: String, _ attributes: [String: String]) -> Bool {
        defer { path.append(name) }
        if path.isEmpty { root = name }
        if path.count == 1, name == "entry" { entries += 1 }
        if name.hasSuffix(Self.suffix) {
            if path.contains(where: { $0.hasSuffix(Self.suffix) }) { return false }
            guard let kind = name == Self.suffix ? Self.kind(attributes) : name else { return false }
            descriptions.append(Description(kind: kind, depth: path.count))
        } else if path.last?.hasSuffix(Self.suffix) == true, Self.wanted.contains(name) {
            return descriptions[descriptions.count - 1].values.updateValue("", forKey: name) == nil
        }
        return true
    }

    private mutating func append(_ part: String) {
        guard path.count >= 2, path[path.count - 2].hasSuffix(Self.suffix), Self.wanted.contains(path[path.count - 1])
        else { return }
        descriptions[descriptions.count - 1].values[path[path.count - 1], default: ""] += part
    }

    /// Returns the kind that the attributes of an element `RegistrationDescription` state; nil if they state several.
    private static func kind(_ attributes: [String: String]) -> String? {
        let types = Set(attributes.filter { $0.key.hasSuffix(":type") }.values.map { localName($0.trimmed) })
        return types.count <= 1 ? types.first ?? suffix : nil
    }

    private static func localName(_ name: String) -> String { name.split(separator: ":").last.map(String.init) ?? name }
}

extension StringProtocol {
    /// The text without surrounding white space.
    fileprivate var trimmed: String {
        let isSpace = { (character: Character) in character.isWhitespace }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}

/// One registration of a hub, reduced to the fields that the import uses.
struct ExportEntry: Sendable, Hashable {
    /// The kind of the registration, such as `AppleRegistrationDescription`.
    var kind: String
    var registrationID: String
    var handle: String
    /// The tags without surrounding blanks. The hub joins them by commas.
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

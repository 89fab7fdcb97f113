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
    static let longest = 64 << 10
}

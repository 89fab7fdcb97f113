/// One registration as a hub's export has it: what of it decides anything.
struct ExportEntry: Sendable, Hashable {
    /// The name of the description's element, such as `AppleRegistrationDescription`.
    var kind: String
    var registrationID: String
    var handle: String
    /// As the hub keeps them: joined by commas in the export, without blanks here.
    var tags: [String]

    /// Why a line is no registration.
    enum Fault: String, Error, Sendable, Hashable, CaseIterable {
        case tooLong = "line-too-long"
        case notUTF8 = "not-utf-8"
        case notXML = "not-xml"
        /// Declarations and instructions have no place in an entry, and are where hostile XML begins.
        case declarations = "xml-declarations"
        case notARegistration = "not-a-registration"
    }

    /// The most bytes that a line may have. A registration has a handle of 4 KiB and 60 tags of 120 bytes at the most; a template
    /// beside them may have 4 KiB.
    static let longest = 64 << 10
}

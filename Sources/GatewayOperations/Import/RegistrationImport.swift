internal import Foundation
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// The validation result of each registration of an export, or of a hub's list. Only the whole shows which handles have
/// several registrations.
struct RegistrationImport: Sendable {
    /// The validation result of a line, or of an entry of the hub's list.
    enum Assessment: Sendable, Hashable {
        /// The line is not a registration.
        case unreadable(ExportEntry.Fault)
        /// The line is a registration that the gateway would not make.
        case rejected(ExportValidator.Fault)
        /// The registration is valid and belongs to the user.
        case valid(UserName)
    }

    /// A line of the export, or an entry of the hub's list.
    struct Line: Sendable {
        /// The number of the line or entry, from 1.
        var number: Int
        var id: RegistrationID?
        /// The kind of the registration, as the hub names it.
        var kind: String?
        var handle: DeviceHandle?
        /// The only owner according to the tags, also of a registration that is rejected for another reason.
        var owner: UserName?
        var assessment: Assessment
        var content: [UInt8]

        /// Returns the entry for the ledger; nil for a line that the import skips because it neither binds nor deletes
        /// the registration and nobody has to know of it later.
        func entry(_ deletions: DeletedKinds) -> ImportEntry? {
            guard let id else { return nil }
            switch assessment {
            case .valid(let owner):
                guard let handle else { return nil }
                return ImportEntry(
                    id: id, assessment: .valid(owner: owner, handle: handle), content: content,
                    isPurged: deletions.includesHarmful)
            case .rejected(let fault):
                guard fault.isHarmful || deletions.includes(fault) else { return nil }
                return ImportEntry(
                    id: id, assessment: .rejected(handle: handle), content: content,
                    isPurged: deletions.includes(fault))
            case .unreadable: return nil
            }
        }

        /// The entry by which the ledger compares the registration with its own; nil without an id.
        var comparison: ImportEntry? {
            id.map { id in
                let assessment: ImportEntry.Assessment =
                    if let owner, let handle { .valid(owner: owner, handle: handle) } else { .rejected(handle: handle) }
                return ImportEntry(id: id, assessment: assessment, content: content)
            }
        }

        /// The word for the reason of a rejection; nil for a valid registration.
        var reason: String? {
            switch assessment {
            case .unreadable(let fault): fault.rawValue
            case .rejected(let fault): fault.reason
            case .valid: nil
            }
        }

        /// Whether it counts among the registrations of its handle: its device receives what a user is sent.
        fileprivate var isOfUser: Bool {
            switch assessment {
            case .valid: true
            case .rejected(let fault): fault.isHarmful
            case .unreadable: false
            }
        }
    }

    let lines: [Line]

    /// Parses the lines of an export. Empty lines are ignored.
    init(_ text: Data, validator: ExportValidator) {
        var lines: [Line] = []
        var number = 0
        for bytes in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let bytes = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
            if bytes.isEmpty { continue }
            do throws(ExportEntry.Fault) {
                lines.append(Line(number: number, try ExportEntryReader.read(bytes), validator))
            } catch {
                lines.append(Line(number: number, assessment: .unreadable(error), content: []))
            }
        }
        self.init(lines)
    }

    /// Takes validated lines, and rejects those that are valid but have a handle of another line.
    init(_ lines: [Line]) {
        var lines = lines
        var registrations: [DeviceHandle: Set<RegistrationID>] = [:]
        for line in lines where line.isOfUser {
            if let handle = line.handle, let id = line.id { registrations[handle, default: []].insert(id) }
        }
        for index in lines.indices {
            guard case .valid = lines[index].assessment, let handle = lines[index].handle,
                registrations[handle]?.count ?? 0 > 1
            else { continue }
            lines[index].assessment = .rejected(.severalOfHandle)
        }
        self.lines = lines
    }
}

extension RegistrationImport.Line {
    /// Validates an entry.
    init(number: Int, _ entry: ExportEntry, _ validator: ExportValidator) {
        let id = RegistrationID(entry.registrationID)
        let result = validator.validate(entry)
        let fault = id == nil ? .registrationID : result.fault
        self.init(
            number: number, id: id, kind: entry.kind, handle: result.handle, owner: result.owner,
            assessment: .rejected(fault ?? .noUser), content: entry.content)
        if fault == nil, let owner { assessment = .valid(owner) }
    }
}

extension ExportEntry {
    /// The canonical content, by which the ledger recognizes the entry in another export.
    fileprivate var content: [UInt8] {
        JSONWriter.bytes(
            of: .array(
                [.string(kind), .string(registrationID), .string(handle)] + tags.sorted().map(JSONValue.string)))
    }
}

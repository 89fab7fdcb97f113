internal import Foundation
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// A complete export with the validation result of each line. Only the whole export shows which handles have several
/// registrations.
struct RegistrationImport: Sendable {
    /// The validation result of a line.
    enum Assessment: Sendable, Hashable {
        /// The line is not a registration.
        case unreadable(ExportEntry.Fault)
        /// The line is a registration that the gateway would not make.
        case rejected(ExportValidator.Fault)
        /// The registration is valid and belongs to the user.
        case valid(UserName)
    }

    /// A line of the export.
    struct Line: Sendable {
        /// The line number, from 1.
        var number: Int
        var id: RegistrationID?
        var handle: DeviceHandle?
        var assessment: Assessment
        var content: [UInt8]

        /// The entry for the ledger; nil for a line that the import skips.
        var entry: ImportEntry? {
            guard let id else { return nil }
            switch assessment {
            case .valid(let owner):
                guard let handle else { return nil }
                return ImportEntry(id: id, assessment: .valid(owner: owner, handle: handle), content: content)
            case .rejected(let fault) where !fault.isSkipped:
                return ImportEntry(id: id, assessment: .rejected(handle: handle), content: content)
            case .rejected, .unreadable:
                return nil
            }
        }

        /// The word for the reason of a rejection; nil for a valid registration.
        var reason: String? {
            switch assessment {
            case .unreadable(let fault): fault.rawValue
            case .rejected(let fault): fault.rawValue
            case .valid: nil
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
            lines.append(Self.line(number, bytes, validator))
        }
        var registrations: [DeviceHandle: Set<RegistrationID>] = [:]
        for line in lines {
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

    private static func line(_ number: Int, _ bytes: Data.SubSequence, _ validator: ExportValidator) -> Line {
        var line = Line(number: number, assessment: .rejected(.registrationID), content: [])
        do throws(ExportEntry.Fault) {
            let entry = try ExportEntryReader.read(bytes)
            line.id = RegistrationID(entry.registrationID)
            line.content = entry.content
            do throws(ExportValidator.Fault) {
                guard line.id != nil else { throw .registrationID }
                line.handle = try validator.handle(entry)
                line.assessment = .valid(try validator.owner(entry))
            } catch {
                line.assessment = .rejected(error)
            }
        } catch {
            line.assessment = .unreadable(error)
        }
        return line
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

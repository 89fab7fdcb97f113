internal import Foundation
internal import GatewayCore
internal import GatewayStore

/// An export, read whole and judged: only then is it known which handles have several registrations.
struct RegistrationImport: Sendable {
    /// What a line came to.
    enum Assessment: Sendable, Hashable {
        case unreadable(ExportEntry.Fault)
        case faulty(ExportValidator.Fault)
        case sound(UserName)
    }

    /// A line of the export.
    struct Line: Sendable {
        /// From 1.
        var number: Int
        var id: RegistrationID?
        var handle: DeviceHandle?
        var assessment: Assessment
        var content: [UInt8]

        /// What the ledger is told of it; nil for what is left alone.
        var entry: ImportEntry? {
            guard let id else { return nil }
            switch assessment {
            case .sound(let owner):
                guard let handle else { return nil }
                return ImportEntry(id: id, assessment: .sound(owner: owner, handle), content: content)
            case .faulty(let fault) where !fault.isSkipped:
                return ImportEntry(id: id, assessment: .unsound(handle), content: content)
            case .faulty, .unreadable:
                return nil
            }
        }

        /// The word for what is wrong with it; nil for what is sound.
        var reason: String? {
            switch assessment {
            case .unreadable(let fault): fault.rawValue
            case .faulty(let fault): fault.rawValue
            case .sound: nil
            }
        }
    }

    let lines: [Line]

    /// Reads the lines of an export. Empty ones are passed over.
    init(_ text: Data, judge: ExportValidator) {
        var lines: [Line] = []
        var number = 0
        for bytes in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let bytes = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
            if bytes.isEmpty { continue }
            lines.append(Self.line(number, bytes, judge))
        }
        var registrations: [DeviceHandle: Set<RegistrationID>] = [:]
        for line in lines {
            if let handle = line.handle, let id = line.id { registrations[handle, default: []].insert(id) }
        }
        for index in lines.indices {
            guard case .sound = lines[index].assessment, let handle = lines[index].handle,
                registrations[handle]?.count ?? 0 > 1
            else { continue }
            lines[index].assessment = .faulty(.severalOfHandle)
        }
        self.lines = lines
    }

    private static func line(_ number: Int, _ bytes: Data.SubSequence, _ judge: ExportValidator) -> Line {
        var line = Line(number: number, assessment: .faulty(.registrationID), content: [])
        do throws(ExportEntry.Fault) {
            let entry = try ExportEntryReader.read(bytes)
            line.id = RegistrationID(entry.registrationID)
            line.content = entry.content
            do throws(ExportValidator.Fault) {
                guard line.id != nil else { throw .registrationID }
                line.handle = try judge.handle(entry)
                line.assessment = .sound(try judge.owner(entry))
            } catch {
                line.assessment = .faulty(error)
            }
        } catch {
            line.assessment = .unreadable(error)
        }
        return line
    }
}

extension ExportEntry {
    /// By which the ledger knows the entry again, in whatever form another export has it.
    fileprivate var content: [UInt8] {
        JSONWriter.bytes(
            of: .array(
                [.string(kind), .string(registrationID), .string(handle)] + tags.sorted().map(JSONValue.string)))
    }
}

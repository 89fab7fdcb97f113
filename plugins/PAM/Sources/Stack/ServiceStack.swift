internal import Foundation
internal import GatewaySupport

/// The stack of a PAM service, as it was read from its files.
///
/// libpam uses the stack of `other` for a facility that has no module of the service's own, and that stack admits every
/// system account on some distributions. The gateway therefore calls modules only if `errors` is empty, and if
/// `isCurrent` still holds after libpam has read the files.
struct ServiceStack: Sendable {
    /// The path of the service's file; nil if there is none.
    let file: String?
    /// Every problem, in the order in which libpam reads.
    private(set) var problems: [StackProblem]
    private let entries: [StackEntry.Facility: [StackEntry]]
    private let states: [(path: String, state: FileState?)]
    /// Whether each change since the files were read changes their state.
    private let isSettled: Bool

    /// The problems with which logins are unavailable.
    var errors: [StackProblem] { problems.filter(\.isError) }

    /// The entries of a stack in their order.
    subscript(facility: StackEntry.Facility) -> [StackEntry] { entries[facility] ?? [] }

    /// Whether no file has changed since it was read.
    var isCurrent: Bool { states.allSatisfy { FileState(path: $0.path) == $0.state } }

    /// Reads the stack of a service. Waits for at most 0.1 seconds for files that are being written.
    ///
    /// - Parameter directory: the directory of the service's file, instead of the system's directories.
    init(service: String, directory: String?, library: InstalledLibrary = .loaded) {
        self.init(reading: service, directory: directory, library: library)
        for _ in 0..<50 where !isSettled {
            usleep(2000)
            self = ServiceStack(reading: service, directory: directory, library: library)
        }
        if !isSettled { problems.append(StackProblem(message: "\(file ?? service) is being written")) }
    }

    private init(reading service: String, directory: String?, library: InstalledLibrary) {
        var reader = StackReader(library: library, directory: directory)
        // libpam looks for the name in lower case.
        let service = service.asciiLowercased
        file = reader.readService(service)
        entries = reader.entries
        states = reader.states
        isSettled = reader.isSettled
        problems = reader.problems
        guard let file else {
            let places = directory.map { [$0] } ?? library.serviceDirectories
            problems = [
                StackProblem(message: "there is no readable file \"\(service)\" in \(places.joined(separator: ", "))")
            ]
            return
        }
        if service == "other" {
            problems.append(StackProblem(message: "\"other\" is libpam's stack for services without one of their own"))
        }
        for facility in [StackEntry.Facility.auth, .account] {
            check(facility, library)
            if !self[facility].contains(where: { $0.module != nil && library.has($0) != false }) {
                problems.append(
                    StackProblem(
                        message: "\(file) calls no module in \"\(facility)\"; libpam would use the stack of \"other\" "
                            + "there"))
            }
        }
        problems += Self.writable(states.filter { $0.state != nil }.map(\.path))
    }

    /// Reports missing modules and jumps over the end of the stack.
    private mutating func check(_ facility: StackEntry.Facility, _ library: InstalledLibrary) {
        for (index, entry) in self[facility].enumerated() {
            if let module = entry.module, !entry.isOptional, library.has(entry) == false {
                let places = module.hasPrefix("/") ? "" : " in " + library.moduleDirectories.joined(separator: ", ")
                problems.append(StackProblem(place: entry.place, message: "there is no module \(module)\(places)"))
            }
            for jump in entry.control.jumps.sorted() where self[facility].index(after: index, skipping: jump) == nil {
                problems.append(
                    StackProblem(place: entry.place, message: "\(jump) jumps over the end of the stack"))
            }
        }
    }

    /// Write access to a file or to its directory decides which code verifies logins.
    private static func writable(_ files: [String]) -> [StackProblem] {
        let directories = files.compactMap { file in file.lastIndex(of: "/").map { String(file[..<$0]) } }
        return Set(directories + files).sorted().filter { FileState(path: $0)?.isWritableByOthers == true }.map {
            StackProblem(message: "\($0) is writable by users other than its owner; run: chmod go-w \($0)")
        }
    }
}

extension ServiceStack {
    /// Recommendations about the stack, which logins do not depend on.
    var warnings: [StackProblem] {
        var warnings = problems.filter { !$0.isError }
        for entry in self[.account] where Self.countResettingModules.contains(entry.name) {
            warnings.append(
                StackProblem(
                    place: entry.place,
                    message: "\(entry.name) in \"account\" resets its count of wrong passwords at every call, and the "
                        + "gateway checks accounts every ten minutes; call it in \"auth\" instead", isError: false))
        }
        for facility in [StackEntry.Facility.auth, .account] where errors.isEmpty {
            guard !self[facility].canSucceed(returning: { $0.possibleCodes }) else { continue }
            warnings.append(
                StackProblem(
                    message: "no login can succeed, whatever the modules of \"\(facility)\" return", isError: false))
        }
        return warnings
    }

    /// Modules that lock accounts, and that in `account` assume that a correct password came before.
    private static let countResettingModules: Set<String> = ["pam_faillock.so", "pam_tally.so", "pam_tally2.so"]

    /// Whether the stack calls the module.
    func calls(_ module: String, in facility: StackEntry.Facility) -> Bool {
        self[facility].contains { $0.name == module }
    }

    /// Whether no login can succeed for a user whose local password is locked: one for whom pam_unix accepts no
    /// password. SSSD verifies no passwords of local accounts.
    var endsWithLockedPassword: Bool {
        calls("pam_unix.so", in: .auth)
            && !self[.auth].canSucceed { entry in
                ["pam_unix.so", "pam_sss.so"].contains(entry.name) ? Array(1..<32) : entry.possibleCodes
            }
    }
}

extension InstalledLibrary {
    /// Whether the entry's module exists; nil if the directories of modules are not known.
    fileprivate func has(_ entry: StackEntry) -> Bool? {
        guard let module = entry.module, !module.contains("$ISA") else { return nil }
        if module.hasPrefix("/") { return FileState(path: module)?.isRegular == true }
        guard !moduleDirectories.isEmpty else { return nil }
        return moduleDirectories.contains { FileState(path: "\($0)/\(module)")?.isRegular == true }
    }
}

internal import CPAM
internal import Foundation

/// The file with a service's stack of modules.
///
/// libpam falls back to the stack `other` where a service has none, and some distributions let any password of the machine
/// in by that one. A service is therefore asked only while its own file is there.
struct ServiceStack {
    let service: String
    let directory: String?

    /// Where libpam looks, in its order.
    private static let systemDirectories = ["/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d"]

    /// The file, or nil where there is none.
    var file: String? { file(named: service) }

    /// The file of that name where libpam would look for it, or the one of a whole path; nil where there is none to read.
    func file(named name: String) -> String? {
        let directories = directory.map { [$0] } ?? Self.systemDirectories
        let paths = name.hasPrefix("/") ? [name] : directories.map { "\($0)/\(name)" }
        return paths.first { access($0, R_OK) == 0 }
    }

    /// What is wrong with it, a line each.
    func problems() -> [String] {
        guard let file else {
            let places = directory ?? Self.systemDirectories.joined(separator: ", ")
            return ["there is no readable file \"\(service)\" in \(places)"]
        }
        // Whoever can write a stack, or put another in its place, decides what code judges the logins.
        let writable = [directory, file].compactMap { $0 }.filter(Self.isWritableByOthers)
        return writable.map { "\($0) is writable by others than its owner; chmod go-w it" }
    }

    private static func isWritableByOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & (S_IWGRP | S_IWOTH) != 0
    }
}

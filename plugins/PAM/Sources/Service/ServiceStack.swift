internal import CPAM
internal import Foundation

/// The file with the module stack of a PAM service.
///
/// libpam uses the stack `other` for a service without a file, and on some distributions that stack accepts any
/// system password. The modules are therefore called only while the service's own file exists.
struct ServiceStack {
    let service: String
    let directory: String?

    /// The directories that libpam searches, in its order.
    private static let systemDirectories = ["/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d"]

    /// The path of the service's file, or nil if there is none.
    var file: String? { file(named: service) }

    /// Returns the path of a readable file with this name in the search directories. An absolute path is returned as
    /// it is. Returns nil if there is no such file.
    func file(named name: String) -> String? {
        let directories = directory.map { [$0] } ?? Self.systemDirectories
        let paths = name.hasPrefix("/") ? [name] : directories.map { "\($0)/\(name)" }
        return paths.first { access($0, R_OK) == 0 }
    }

    /// Returns every problem of the stack's file, one line each.
    func problems() -> [String] {
        guard let file else {
            let places = directory ?? Self.systemDirectories.joined(separator: ", ")
            return ["there is no readable file \"\(service)\" in \(places)"]
        }
        // Write access to the file or its directory decides which code verifies logins.
        let writable = [directory, file].compactMap { $0 }.filter(Self.isWritableByOthers)
        return writable.map { "\($0) is writable by users other than its owner; run: chmod go-w \($0)" }
    }

    private static func isWritableByOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & (S_IWGRP | S_IWOTH) != 0
    }
}

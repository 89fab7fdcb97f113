internal import Foundation

/// The directories and extensions that the libpam of this machine was built with.
struct InstalledLibrary: Sendable, Equatable {
    /// The directories with the files of services, in the order in which libpam searches them.
    var serviceDirectories = ["/etc/pam.d", "/usr/lib/pam.d"]
    /// The directories with modules. Empty if they are not known.
    var moduleDirectories: [String] = []
    /// Whether this is Debian's libpam. It has `@include`, and it takes a relative name in an include for a file in
    /// `/etc/pam.d`, whatever the service directory is.
    var isDebian = false

    /// The libpam that this process has loaded.
    static let loaded = InstalledLibrary(image: image() ?? Data())

    /// Finds the settings in the file of the library, where they are constant strings.
    init(image: Data) {
        isDebian = image.range(of: Data("@include\0".utf8)) != nil
        for format in Self.paths(in: image, endingIn: "/%s") where format.hasSuffix("/pam.d/%s") {
            let directory = String(format.dropLast("/%s".count))
            if !serviceDirectories.contains(directory) { serviceDirectories.append(directory) }
        }
        moduleDirectories = Self.paths(in: image, endingIn: "/security/").map { String($0.dropLast()) }
        if isDebian { moduleDirectories.append("/lib/security") }
    }

    /// Returns the absolute paths among the strings of a library that end in these characters.
    private static func paths(in image: Data, endingIn suffix: String) -> [String] {
        let end = Data(suffix.utf8 + [0])
        var paths: [String] = []
        var rest = image[...]
        while let found = rest.range(of: end) {
            let start = rest[..<found.lowerBound].lastIndex(of: 0).map { $0 + 1 } ?? rest.startIndex
            let text = String(decoding: image[start..<(found.upperBound - 1)], as: UTF8.self)
            if text.hasPrefix("/") { paths.append(text) }
            rest = rest[found.upperBound...]
        }
        return paths
    }

    /// Returns the content of the library's file. After an update of the package it is the new file, which has the
    /// same settings.
    private static func image() -> Data? {
        guard let maps = FileHandle(forReadingAtPath: "/proc/self/maps") else { return nil }
        var text = Data()
        // A single read of this file is short.
        while let part = try? maps.read(upToCount: 1 << 16), !part.isEmpty { text += part }
        guard
            let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first(where: {
                $0.contains("/libpam.so")
            }), let path = line.firstIndex(of: "/").map({ line[$0...] })
        else { return nil }
        return FileManager.default.contents(atPath: String(path.replacing(" (deleted)", with: "")))
    }
}

internal import Gateway
internal import GatewayCore
internal import GatewaySupport

extension ServerConfiguration {
    /// The maximum number of fences.
    private static let maximumFences = 64

    /// Reads `fences`: names of areas, each with the path of a GeoJSON file. Reads the files too.
    ///
    /// - Returns: The files in their order, and the area of each. If one file is invalid, the areas are empty.
    static func readFences(_ reader: ConfigurationReader?) -> (files: [FenceFile], areas: [FenceName: Fence]) {
        guard let reader else { return ([], [:]) }
        var files: [FenceFile] = []
        let entries = reader.allEntries()
        if entries.count > maximumFences { reader.report("has more than \(maximumFences) fences") }
        for entry in entries.prefix(maximumFences) {
            guard let name = FenceName(entry.name) else {
                reader.report(
                    at: entry.location, under: entry.name,
                    "is not a fence name; use up to 64 letters, digits, _ . and -")
                continue
            }
            guard !files.contains(where: { $0.name == name }) else {
                reader.report(
                    at: entry.location, under: entry.name, "is a duplicate; fence names are not case-sensitive")
                continue
            }
            guard let path = reader.required(entry.name) else { continue }
            files.append(FenceFile(name: name, path: reader.absolute(path)))
        }
        do throws(ConfigurationError) {
            return (files, try FenceFile.read(files))
        } catch {
            for problem in error.problems { reader.report(problem) }
            return (files, [:])
        }
    }

    /// Warns of fences that no rule refers to.
    static func warnOfUnused(_ reader: ConfigurationReader?, _ files: [FenceFile], _ policy: Policy?) {
        guard let reader, let policy else { return }
        for entry in reader.allEntries() {
            guard let name = FenceName(entry.name), files.contains(where: { $0.name == name }) else { continue }
            if !policy.send.contains(where: { $0.within == name }) {
                reader.report(entry.name, "is in no rule of policy.send", severity: .warning)
            }
        }
    }
}

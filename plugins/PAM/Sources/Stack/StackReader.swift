internal import CPAM
internal import Foundation
internal import GatewaySupport

/// Reads a service's file and the files that it includes in the way of libpam.
struct StackReader {
    /// libpam reads no deeper.
    static let maximumDepth = 16
    /// More files or lines than any system has.
    static let maximumFiles = 256
    static let maximumEntries = 4096
    static let maximumSize = 1 << 18
    static let maximumProblems = 100

    let library: InstalledLibrary
    let directory: String?

    /// The entries of each stack, in their order.
    private(set) var entries: [StackEntry.Facility: [StackEntry]] = [:]
    private(set) var problems: [StackProblem] = []
    /// The state of each file that was looked for; nil for one that does not exist.
    private(set) var states: [(path: String, state: FileState?)] = []
    /// Whether each file was read after the time of its last change had passed.
    private(set) var isSettled = true
    /// The files that are being read, each included by the one before it.
    private var open: [String] = []
    private var fileCount = 0

    init(library: InstalledLibrary, directory: String?) {
        self.library = library
        self.directory = directory
    }

    /// Reads the file of a service. Returns its path; nil if there is none.
    mutating func readService(_ service: String) -> String? {
        let directories = directory.map { [$0] } ?? library.serviceDirectories
        return read(directories.map { "\($0)/\(service)" }, for: nil, level: 0)
    }

    /// Reads the first file that can be opened. Returns its path.
    ///
    /// - Parameter facility: the stack whose lines count; nil for all.
    private mutating func read(_ paths: [String], for facility: StackEntry.Facility?, level: Int) -> String? {
        for path in paths {
            let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else {
                states.append((path, FileState(path: path)))
                continue
            }
            defer { close(descriptor) }
            read(path, descriptor, for: facility, level: level)
            return path
        }
        return nil
    }

    private mutating func read(
        _ path: String, _ descriptor: CInt, for facility: StackEntry.Facility?, level: Int
    ) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return report("cannot be read", in: path, facility) }
        let state = FileState(status)
        states.append((path, state))
        // Before the content is read: a change after that must change the state.
        isSettled = isSettled && state.isSettled
        fileCount += 1
        // libpam takes a directory for an empty file.
        guard state.isRegular else { return report("is not a regular file", in: path, facility) }
        guard fileCount <= Self.maximumFiles, !open.contains(path), open.count < Self.maximumDepth,
            level < Self.maximumDepth
        else { return report("includes itself, or includes too many files", in: path, nil) }
        guard status.st_size <= Self.maximumSize,
            let bytes = try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd() ?? Data()
        else { return report("cannot be read, or is larger than 256 KiB", in: path, facility) }
        open.append(path)
        let text = StackLines(Array(bytes))
        for fault in text.faults { report(fault.message, at: .init(file: path, line: fault.number), facility) }
        for line in text.lines { read(line.words[...], at: .init(file: path, line: line.number), facility, level) }
        open.removeLast()
    }

    /// Reads one line.
    ///
    /// - Parameter requested: the stack whose lines count; nil for all.
    private mutating func read(
        _ words: ArraySlice<String>, at place: StackProblem.Place, _ requested: StackEntry.Facility?, _ level: Int
    ) {
        var words = words
        guard problems.count < Self.maximumProblems, var word = words.popFirst()?.asciiLowercased else { return }
        let isOptional = word.hasPrefix("-")
        if isOptional { word.removeFirst() }
        if word == "@include", library.isDebian { return include(words.first, at: place, requested, level) }
        guard let facility = StackEntry.Facility(rawValue: word) else {
            return report(
                "\"\(word)\" is not a facility; use auth, account, session or password"
                    + (library.isDebian ? ", or @include" : ""), at: place, requested)
        }
        guard requested == nil || requested == facility else { return }
        guard let control = words.popFirst() else { return report("the control is missing", at: place, facility) }
        switch control.asciiLowercased {
        case "include": include(words.first, at: place, facility, level)
        case "substack":
            guard let head = try? StackControl("required") else { return }
            add(StackEntry(place: place, level: level, module: nil, control: head), to: facility)
            include(words.first, at: place, facility, level + 1)
        default:
            do throws(StackControl.Fault) {
                let control = try StackControl(control)
                guard let module = words.popFirst() else {
                    return report("the module is missing", at: place, facility)
                }
                add(
                    StackEntry(
                        place: place, level: level, module: module, arguments: Array(words), control: control,
                        isOptional: isOptional), to: facility)
            } catch {
                report(error.message, at: place, facility)
            }
        }
    }

    private mutating func include(
        _ name: String?, at place: StackProblem.Place, _ facility: StackEntry.Facility?, _ level: Int
    ) {
        // Debian's libpam crashes, whatever the facility.
        guard let name else { return report("the file to include is missing", at: place, nil) }
        let directories = library.isDebian ? ["/etc/pam.d"] : directory.map { [$0] } ?? library.serviceDirectories
        let paths = name.hasPrefix("/") ? [name] : directories.map { "\($0)/\(name)" }
        if read(paths, for: facility, level: level) == nil {
            report("there is no readable file \(paths.joined(separator: " or "))", at: place, facility)
        }
    }

    private mutating func add(_ entry: StackEntry, to facility: StackEntry.Facility) {
        guard entries.values.reduce(0, { $0 + $1.count }) < Self.maximumEntries else {
            return report("the stack has more than \(Self.maximumEntries) lines", at: entry.place, nil)
        }
        entries[facility, default: []].append(entry)
    }

    private mutating func report(_ message: String, in path: String, _ facility: StackEntry.Facility?) {
        problems.append(StackProblem(message: "\(path) \(message)", isError: facility?.isUsed ?? true))
    }

    private mutating func report(
        _ message: String, at place: StackProblem.Place, _ facility: StackEntry.Facility?
    ) {
        problems.append(StackProblem(place: place, message: message, isError: facility?.isUsed ?? true))
    }
}

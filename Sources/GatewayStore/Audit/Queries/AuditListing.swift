/// Lists the lines and calls that match a filter. Works with any ``AuditLocator``.
struct AuditListing {
    let locator: any AuditLocator
    let filter: AuditFilter
    private let source: AuditLineSource

    init(_ query: AuditQuery, _ locator: any AuditLocator, _ files: SegmentFiles) {
        self.locator = locator
        filter = AuditFilter(query)
        source = AuditLineSource(files)
    }

    /// Passes the matching lines, each with its number, to `onLine` in the journal's order.
    ///
    /// - Parameter limit: The maximum number of lines. If more match, the newest are returned.
    /// - Returns: Whether more lines match than the limit.
    func lines(limit: Int, onLine: (UInt64, [UInt8]) throws -> Void) throws -> Bool {
        if limit == .max {
            try locator.locate(filter, newestFirst: false) { location in
                if let line = try matchingLine(location) { try onLine(location.number, line) }
                return true
            }
            return false
        }
        var found: [AuditLocation] = []
        try locator.locate(filter, newestFirst: true) { location in
            if try !filter.needsLine || matchingLine(location) != nil { found.append(location) }
            return found.count <= limit
        }
        let isMore = found.count > limit
        for location in found.prefix(limit).reversed() {
            if let line = try matchingLine(location) { try onLine(location.number, line) }
        }
        return isMore
    }

    /// Passes each call with a matching line to `onCall`: the number of its oldest matching line, by which calls are
    /// ordered, and all lines of the call. A line without a call is passed alone.
    ///
    /// - Parameter limit: The maximum number of calls. If more match, the newest are returned.
    /// - Returns: Whether more calls match than the limit.
    func calls(limit: Int, onCall: (UInt64, [[UInt8]]) throws -> Void) throws -> Bool {
        var found: [(location: AuditLocation, call: [UInt8]?)] = []
        var positions: [[UInt8]: Int] = [:]
        var isMore = false
        try locator.locate(filter, newestFirst: true) { location in
            guard let line = try matchingLine(location) else { return true }
            let call = JournalLineReader(bytes: line[...]).bytes(of: "call").map { Array($0) }
            if let call, let position = positions[call] {
                // The oldest matching line determines the call's position.
                found[position].location = location
                return true
            }
            guard found.count < limit else {
                isMore = true
                return false
            }
            if let call { positions[call] = found.count }
            found.append((location, call))
            return true
        }
        let locations = try locator.locations(ofCalls: Set(positions.keys))
        for (location, call) in found.sorted(by: { $0.location.number < $1.location.number }) {
            let ofCall = call.flatMap { locations[$0] } ?? [location]
            let lines = try ofCall.compactMap { try source.line(at: $0) }
            if !lines.isEmpty { try onCall(location.number, lines) }
        }
        return isMore
    }

    /// Returns a page of the newest rows.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of rows.
    ///   - isOfCalls: Whether a row is a call with a matching line, with all of its lines. Otherwise it is one line.
    ///   - mostExamined: The number of lines after which the page ends, also with fewer rows.
    func page(limit: Int, isOfCalls: Bool, mostExamined: Int) throws -> AuditPage {
        var found: [(location: AuditLocation, call: [UInt8]?)] = []
        var calls: Set<[UInt8]> = []
        var next: UInt64?
        var top = filter.top
        var examined = 0
        try locator.locate(filter, newestFirst: true) { location in
            if top == nil { top = location.number + 1 }
            examined += 1
            guard examined <= mostExamined else {
                next = location.number + 1
                return false
            }
            guard let line = try matchingLine(location) else { return true }
            let call = isOfCalls ? JournalLineReader(bytes: line[...]).bytes(of: "call").map { Array($0) } : nil
            if let call, calls.contains(call) { return true }
            guard found.count < limit else {
                next = location.number + 1
                return false
            }
            if let call { calls.insert(call) }
            found.append((location, call))
            return true
        }
        let locations = try locator.locations(ofCalls: calls)
        var rows: [[[UInt8]]] = []
        var loaded = 0
        for (location, call) in found {
            let ofCall = call.flatMap { locations[$0] } ?? [location]
            // A call to an audience has two lines for each member.
            loaded += ofCall.count
            guard loaded <= mostExamined || loaded == ofCall.count else {
                next = location.number + 1
                break
            }
            let lines = try ofCall.compactMap { try source.line(at: $0) }
            // A call with a matching line after this page was on an earlier page.
            if !lines.isEmpty, try !lines.contains(where: isMatchAfterPage) { rows.append(lines) }
        }
        return AuditPage(rows: rows, next: next, top: top)
    }

    /// Returns whether the line matches, is not before the end of the page, and was there when the first page was read.
    private func isMatchAfterPage(_ bytes: [UInt8]) throws -> Bool {
        let line = JournalLineReader(bytes: bytes[...])
        guard let before = filter.before, let number = line.sequence, number >= before, number < filter.top ?? .max
        else { return false }
        var clock = LineTimestampReader()
        guard let time = clock.time(of: line) else { return false }
        return filter.matchesColumnsOnAnyPage(line, at: time) && filter.matchesOtherConditions(line)
    }

    /// Returns the line if it exists and matches; nil otherwise. Throws if the line contradicts its row in the index.
    private func matchingLine(_ location: AuditLocation) throws -> [UInt8]? {
        guard let bytes = try source.line(at: location) else { return nil }
        let line = JournalLineReader(bytes: bytes[...])
        var clock = LineTimestampReader()
        guard let time = clock.time(of: line), filter.matchesColumns(line, at: time) else {
            if filter.hasCall { return nil }
            throw AuditIndex.Failure(
                damaged: location.segment.first, "does not describe line \(location.number) as it is")
        }
        return filter.matchesOtherConditions(line) ? bytes : nil
    }
}

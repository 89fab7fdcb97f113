/// Lists the lines and calls that match a filter. Works with any ``AuditLocator``.
struct AuditListing<Locator: AuditLocator> {
    /// A line and its place.
    typealias Located = (location: Locator.Location, line: [UInt8])

    /// A page of a list, the newest rows first.
    struct Page {
        /// The lines of each row: all lines of a call, or one line.
        let rows: [[Located]]
        /// The place before which the next page begins; nil if no more lines match.
        let next: Locator.Bound?
        /// The newest line that was examined.
        let newest: Locator.Location?
    }

    let locator: Locator
    let filter: AuditFilter

    init(_ query: AuditQuery, _ locator: Locator) {
        self.locator = locator
        filter = AuditFilter(query)
    }

    /// Passes the matching lines, each with its location, to `onLine` in the order of the list.
    ///
    /// - Parameter limit: The maximum number of lines. If more match, the newest are returned.
    /// - Returns: Whether more lines match than the limit.
    func lines(limit: Int, onLine: (Locator.Location, [UInt8]) throws -> Void) throws -> Bool {
        if limit == .max {
            try visit(newestFirst: false) { location, line in
                try onLine(location, line)
                return true
            }
            return false
        }
        var found: [Locator.Location] = []
        _ = try locator.locate(filter, newestFirst: true) { location in
            if try !filter.needsLine || matchingLine(location) != nil { found.append(locator.compacted(location)) }
            return found.count <= limit
        }
        let isMore = found.count > limit
        try locator.forEachLine(at: found.prefix(limit).reversed()) { location, bytes in
            if let line = try matching(bytes, location) { try onLine(location, line) }
        }
        return isMore
    }

    /// Visits the matching lines, in descending order if `newestFirst`, otherwise ascending, until `body` returns false.
    ///
    /// - Returns: Whether the locator did not end before that, nor before the last line.
    @discardableResult
    func visit(newestFirst: Bool, _ body: (Locator.Location, [UInt8]) throws -> Bool) throws -> Bool {
        let reached = try locator.locate(filter, newestFirst: newestFirst) { location in
            try matchingLine(location).map { try body(location, $0) } ?? true
        }
        return reached == nil
    }

    /// Passes each call with a matching line to `onCall`: the location of its oldest matching line, by which calls are
    /// ordered, and all lines of the call. A line without a call is passed alone.
    ///
    /// - Parameter limit: The maximum number of calls. If more match, the newest are returned.
    /// - Returns: Whether more calls match than the limit.
    func calls(limit: Int, onCall: (Locator.Location, [Located]) throws -> Void) throws -> Bool {
        var found: [(location: Locator.Location, call: [UInt8]?)] = []
        var positions: [[UInt8]: Int] = [:]
        var isMore = false
        _ = try locator.locate(filter, newestFirst: true) { location in
            guard let line = try matchingLine(location) else { return true }
            let call = JournalLineReader(bytes: line[...]).bytes(of: "call").map { Array($0) }
            if let call, let position = positions[call] {
                // The oldest matching line determines the call's position.
                found[position].location = locator.compacted(location)
                return true
            }
            guard found.count < limit else {
                isMore = true
                return false
            }
            if let call { positions[call] = found.count }
            found.append((call == nil ? location : locator.compacted(location), call))
            return true
        }
        found.sort { locator.precedes($0.location, $1.location) }
        var rest = found[...]
        while !rest.isEmpty {
            let batch = rest.prefix(locator.maximumCalls)
            rest = rest.dropFirst(batch.count)
            let locations = try locator.locations(ofCalls: Set(batch.compactMap(\.call)))
            for (location, call) in batch {
                let lines = try lines(at: call.flatMap { locations[$0] } ?? [location])
                if !lines.isEmpty { try onCall(location, lines) }
            }
        }
        return isMore
    }

    /// Returns a page of the newest rows.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of rows.
    ///   - isOfCalls: Whether a row is a call with a matching line, with all of its lines. Otherwise it is one line.
    ///   - mostExamined: The number of lines after which the page ends, also with fewer rows.
    func page(limit: Int, isOfCalls: Bool, mostExamined: Int) throws -> Page {
        var found: [(location: Locator.Location, call: [UInt8]?)] = []
        var calls: Set<[UInt8]> = []
        var next: Locator.Bound?
        var newest: Locator.Location?
        var examined = 0
        let reached = try locator.locate(filter, newestFirst: true) { location in
            if newest == nil { newest = location }
            examined += 1
            guard examined <= mostExamined else {
                next = locator.bound(after: location)
                return false
            }
            guard let line = try matchingLine(location) else { return true }
            let call = isOfCalls ? JournalLineReader(bytes: line[...]).bytes(of: "call").map { Array($0) } : nil
            if let call, calls.contains(call) { return true }
            guard found.count < limit else {
                next = locator.bound(after: location)
                return false
            }
            if let call { calls.insert(call) }
            found.append((location, call))
            return true
        }
        next = next ?? reached
        var rows: [[Located]] = []
        var loaded = 0
        var rest = found[...]
        loading: while !rest.isEmpty {
            let batch = rest.prefix(locator.maximumCalls)
            rest = rest.dropFirst(batch.count)
            let locations = try locator.locations(ofCalls: Set(batch.compactMap(\.call)))
            for (location, call) in batch {
                let ofCall = call.flatMap { locations[$0] } ?? [location]
                // A call to an audience has two lines for each member.
                loaded += ofCall.count
                guard loaded <= mostExamined || loaded == ofCall.count else {
                    next = locator.bound(after: location)
                    break loading
                }
                let lines = try lines(at: ofCall)
                // A call with a matching line after this page was on an earlier page.
                if !lines.isEmpty, try !lines.contains(where: isMatchAfterPage) { rows.append(lines) }
            }
        }
        return Page(rows: rows, next: next, newest: newest)
    }

    private func lines(at locations: [Locator.Location]) throws -> [Located] {
        var lines: [Located] = []
        try locator.forEachLine(at: locations) { lines.append(($0, $1)) }
        return lines
    }

    /// Returns whether the line matches, is not before the end of the page, and was there when the first page was read.
    private func isMatchAfterPage(_ found: Located) throws -> Bool {
        guard locator.isOnEarlierPage(found.location, filter) else { return false }
        let line = JournalLineReader(bytes: found.line[...])
        var clock = LineTimestampReader()
        guard let time = clock.time(of: line) else { return false }
        return filter.matchesColumnsOnAnyPage(line, at: time) && filter.matchesOtherConditions(line)
    }

    /// Returns the line if it exists and matches; nil otherwise. Throws if the line contradicts its row in the index.
    private func matchingLine(_ location: Locator.Location) throws -> [UInt8]? {
        try locator.line(at: location).flatMap { try matching($0, location) }
    }

    private func matching(_ bytes: [UInt8], _ location: Locator.Location) throws -> [UInt8]? {
        let line = JournalLineReader(bytes: bytes[...])
        var clock = LineTimestampReader()
        guard let time = clock.time(of: line), filter.matchesColumns(line, at: time) else {
            if filter.hasCall { return nil }
            throw locator.contradiction(at: location)
        }
        return filter.matchesOtherConditions(line) ? bytes : nil
    }
}

internal import CPAM

/// The result of a stack, as libpam combines the return codes of its modules (`_pam_dispatch_aux`).
extension [StackEntry] {
    /// Whether the stack can return success if each module returns one of these codes.
    func canSucceed(returning codes: (StackEntry) -> [UInt8]) -> Bool {
        var seen: Set<EvaluationState> = []
        var open = [EvaluationState()]
        while let state = open.popLast() {
            guard seen.insert(state).inserted else { continue }
            // More states than any system's stack has.
            guard seen.count < 100_000 else { return true }
            guard state.index < count else {
                if state.impression == .positive, state.isSuccess { return true }
                continue
            }
            let entry = self[state.index]
            var entered = state
            entered.enter(level: entry.level)
            guard entry.module != nil else {
                entered.index += 1
                open.append(entered)
                continue
            }
            for code in codes(entry) where code != PAM_INCOMPLETE {
                var next = entered
                next.apply(entry.control[code], of: code, level: entry.level, in: self)
                open.append(next)
            }
        }
        return false
    }

    /// Returns the index of the entry after this one if so many are skipped; nil if there are not so many. A substack
    /// counts as one.
    func index(after index: Int, skipping count: Int) -> Int? {
        let level = self[index].level
        var last = index
        for _ in 0..<count {
            guard last + 1 < self.count, self[last + 1].level >= level else { return nil }
            repeat { last += 1 } while last + 1 < self.count && self[last + 1].level > level
        }
        return last + 1
    }
}

extension StackEntry {
    /// The codes that the module can return in `auth` and `account`.
    var possibleCodes: [UInt8] {
        switch name {
        case "pam_deny.so": [UInt8(PAM_AUTH_ERR)]
        case "pam_permit.so": [UInt8(PAM_SUCCESS)]
        default: Array(0..<32)
        }
    }
}

/// libpam's state between two modules of a stack.
private struct EvaluationState: Hashable {
    enum Impression { case undefined, positive, negative }
    struct Result: Hashable {
        var impression = Impression.undefined
        /// Whether the code that the stack would return is `PAM_SUCCESS`.
        var isSuccess = false
    }

    var index = 0
    private var level = 0
    private var result = Result()
    /// The results at which each substack was entered, and at first the one of the whole stack.
    private var entered: [Result] = [Result()]

    var impression: Impression { result.impression }
    var isSuccess: Bool { result.isSuccess }

    /// Notes the result so far if a substack begins.
    mutating func enter(level: Int) {
        while entered.count <= level { entered.append(Result()) }
        if level > self.level { entered[level] = result }
        entered.removeLast(entered.count - level - 1)
        self.level = level
    }

    /// Applies a module's action and goes on to the next module.
    mutating func apply(_ action: StackAction, of code: UInt8, level: Int, in stack: [StackEntry]) {
        var next: Int? = index + 1
        switch action {
        case .ignore: break
        case .reset: result = entered[level]
        case .ok, .done:
            if impression == .undefined || impression == .positive && isSuccess {
                result = Result(impression: .positive, isSuccess: code == PAM_SUCCESS)
            }
            if action == .done, impression == .positive { next = stack.end(ofLevel: level, after: index) }
        case .bad, .die:
            if impression != .negative { result = Result(impression: .negative, isSuccess: code == PAM_SUCCESS) }
            if action == .die { next = stack.end(ofLevel: level, after: index) }
        case .jump(let count):
            next = stack.index(after: index, skipping: count)
        }
        if next == nil {
            // A bad jump. Whatever follows, the stack fails.
            result = Result(impression: .negative, isSuccess: false)
        }
        index = next ?? stack.end(ofLevel: level, after: index)
    }
}

extension [StackEntry] {
    /// Returns the index after the stack or substack with this level.
    fileprivate func end(ofLevel level: Int, after index: Int) -> Int {
        self[(index + 1)...].firstIndex { $0.level < level } ?? count
    }
}

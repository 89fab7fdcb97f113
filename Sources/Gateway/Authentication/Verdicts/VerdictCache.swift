public import GatewayCore
internal import Synchronization

/// Remembers what was said of passwords, so that a slow authenticator is not asked twice for one answer.
///
/// An acceptance holds for a minute. A rejection holds for ten, as a refusal only: a device that keeps sending an old password
/// costs nothing and locks nobody's account. Where several calls present the same at once, one asks and the others wait
/// for its answer. Shared by all loops; each critical section is some look-ups long.
public final class VerdictCache: Sendable {
    private struct State {
        var table: VerdictTable
        var underWay: [VerdictKey: Question] = [:]
        var generation: UInt64 = 0
    }

    private let state: Mutex<State>
    private let digester: KeyedDigester
    private let clocks: Clocks

    /// An empty memory for so many verdicts.
    public init(clocks: Clocks, capacity: Int = 65_536) {
        self.clocks = clocks
        state = Mutex(State(table: VerdictTable(capacity: capacity)))
        var generator = SystemRandomNumberGenerator()
        digester = KeyedDigester(
            key: Secret((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }

    /// Forgets everything, and what is being asked just now is not remembered: authenticators or their files have changed.
    public func forget() {
        state.withLock { state in
            state.generation += 1
            state.table.forgetAll()
            state.underWay = [:]
        }
    }

    /// Forgets what was said of one user, and what is being asked just now: it was disabled, removed, has a new password.
    public func forget(_ user: UserName) {
        state.withLock { state in
            state.table.forget(user)
            state.underWay = state.underWay.filter { $0.key.user != user.text }
        }
    }

    /// How many verdicts are remembered, those included whose time is over.
    public var count: Int { state.withLock(\.table.count) }

    /// What is known of a credential.
    enum Finding {
        /// It was judged.
        case remembered(VerdictTable.Verdict)
        /// Somebody has just asked.
        case underWay(Question)
        /// The caller must ask, and tell the answer under the key.
        case unknown(Question, VerdictKey?)
    }

    /// Looks a password up. Whoever is told that it is unknown has to ask, and others wait for that answer.
    func find(
        _ login: LoginName, _ password: Secret, of user: UserName?, by panel: AuthenticatorChain.Panel, from peer: Peer
    ) -> Finding {
        let generation = state.withLock(\.generation)
        let digest = digester.digest(
            Array(panel.name.utf8), withUnsafeBytes(of: generation.bigEndian) { Array($0) },
            Array((user?.text ?? "").utf8), Array(login.text.utf8), panel.dependsOnPeer ? peer.keyBytes : [],
            secret: password)
        // Without a digest nothing can be remembered, and everybody asks for themselves.
        guard let digest else { return .unknown(Question(), nil) }
        let key = VerdictKey(user: VerdictKey.user(user, login: login), digest: digest)
        return state.withLock { state in
            if let verdict = state.table.verdict(for: key, now: clocks.monotonic().nanoseconds) {
                return .remembered(verdict)
            }
            if let question = state.underWay[key] { return .underWay(question) }
            let question = Question()
            // Forgotten meanwhile: the key is of a generation that nobody looks up any more.
            if state.generation == generation { state.underWay[key] = question }
            return .unknown(question, key)
        }
    }

    /// Ends a question that `find` gave, and remembers its answer, unless it was forgotten while it was asked.
    ///
    /// - Parameter judgement: nil where nobody was asked. An outage is not remembered.
    func conclude(_ question: Question, _ key: VerdictKey?, _ judgement: Judgement?) {
        guard let key else { return }
        state.withLock { state in
            guard state.underWay[key] === question else { return }
            state.underWay[key] = nil
            let now = clocks.monotonic().nanoseconds
            switch judgement?.outcome {
            case .accepted(let identity): state.table.accept(identity, for: key, now: now)
            case .rejected(let reason): state.table.reject(reason, by: judgement?.judge, for: key, now: now)
            case .notMine, .unavailable, nil: break
            }
        }
    }
}

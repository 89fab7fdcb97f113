import GatewayCore
import GatewaySupport
import NIOCore
import NIOPosix
import Synchronization

/// An authenticator that accepts no token. It records the event loops that call it, so that a test can measure the
/// loops of a running gateway.
enum LoopFinder: AuthenticatorPlugin {
    static let name: PluginName = "loop-finder"
    static let credentialKinds: Set<CredentialKind> = [.bearer]

    /// The event loops that one authenticator has recorded.
    final class Found: Sendable {
        private let loops = Mutex<[ObjectIdentifier: any EventLoop]>([:])

        var all: [any EventLoop] { loops.withLock { Array($0.values) } }

        fileprivate func add(_ loop: any EventLoop) { loops.withLock { $0[ObjectIdentifier(loop)] = loop } }
    }

    private static let found = Mutex<[String: Found]>([:])

    /// Returns the record of the authenticator that is configured with this `name`.
    static func found(as name: String) -> Found {
        found.withLock { all in
            if let known = all[name] { return known }
            let new = Found()
            all[name] = new
            return new
        }
    }

    static func readSettings(_ reader: ConfigurationReader) -> String? { reader.required("name") }
    static func problems(in settings: String, context: PluginContext) async -> [ConfigurationProblem] { [] }
    static func makeAuthenticator(_ settings: String, context: PluginContext) async throws -> any Authenticator {
        Passing(found: found(as: settings))
    }

    private struct Passing: Authenticator {
        let found: Found

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }

        func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? {
            if let loop = MultiThreadedEventLoopGroup.currentEventLoop { found.add(loop) }
            return .notMine
        }
    }
}

public import GatewayCore
internal import GatewaySupport

/// A backend's name for a push service, for example `fcm`: 1–32 bytes of `A–Z a–z 0–9 _ . -`, sent unchanged.
///
/// Backends with a built-in profile use the names of `Platform`; other ports may use names of their own.
public struct PlatformIdentifier: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// Creates a name, or returns nil if the text does not match the grammar.
    public init?(_ text: String) {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(Self.isWordByte) else { return nil }
        self.text = text
    }

    /// Creates the name of a `Platform`.
    public init(_ platform: Platform) { text = platform.rawValue }

    /// The name.
    public var description: String { text }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// A backend's names for push services, and the names by which clients may select them: the backend's own names, and
/// the `Platform` names of the same services (docs/contract.md: client rule 6). Client names are matched without case.
public struct PlatformIdentifiers: Sendable, Hashable {
    /// A name that clients may use, in lower case.
    private struct Known: Hashable {
        let word: String
        let service: PushService
    }

    /// The backend's names, indexed by `PushService.index`.
    private let words: [PlatformIdentifier?]
    // An array, because a linear search of so few elements is faster than hashing.
    private let known: [Known]

    /// Creates the names of a backend; returns nil if one name would refer to two services. A `Platform` name such as
    /// `gcm` may only refer to its own service.
    public init?(_ words: [PushService: PlatformIdentifier]) {
        var services: [String: PushService] = [:]
        for (service, word) in words {
            let known = Platform(word: word.text)
            guard known == nil || known?.service == service,
                services.updateValue(service, forKey: word.text.asciiLowercased) == nil
            else { return nil }
        }
        self.init(words, services)
    }

    /// Creates the `Platform` names. If two of them name one service, the later one is sent to the backend.
    public init(_ platforms: [Platform]) {
        self.init(Dictionary(platforms.map { ($0.service, PlatformIdentifier($0)) }) { $1 }, [:])
    }

    /// Creates the names of several backends, each of which serves the given push services.
    init(_ parts: [(names: PlatformIdentifiers, services: Set<PushService>)]) {
        // A name refers to one service only, because each service has one backend and a name of `Platform` refers to
        // its own service. A backend's own name that another one has for a further service keeps its first meaning.
        var services: [String: PushService] = [:]
        for part in parts {
            for known in part.names.known where part.services.contains(known.service) {
                services[known.word] = services[known.word] ?? known.service
            }
        }
        words = PushService.allCases.map { service in
            parts.first { $0.services.contains(service) }.flatMap { $0.names[service] }
        }
        known = services.map { Known(word: $0, service: $1) }.sorted { $0.word < $1.word }
    }

    private init(_ words: [PushService: PlatformIdentifier], _ own: [String: PushService]) {
        var services = own
        for known in Platform.allCases where words[known.service] != nil { services[known.rawValue] = known.service }
        self.words = PushService.allCases.map { words[$0] }
        known = services.map { Known(word: $0, service: $1) }.sorted { $0.word < $1.word }
    }

    /// The backend's name for the service; nil if it does not support the service.
    public subscript(service: PushService) -> PlatformIdentifier? { words[service.index] }

    /// Returns the service for a client's name, in any case; nil if the name is unknown or the backend does not support
    /// the service.
    func service(for word: String) -> PushService? {
        let word = word.asciiLowercased
        return known.first { $0.word == word }?.service
    }
}

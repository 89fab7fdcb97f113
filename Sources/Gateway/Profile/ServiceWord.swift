public import GatewayCore

/// A backend's own word for a push service: 1–32 bytes of `A–Z a–z 0–9 _ . -`, sent as it is written.
///
/// The known generations take one of the words of `Platform`; ports of them have been seen with words of their own.
public struct ServiceWord: Sendable, Hashable, CustomStringConvertible {
    /// The word.
    public let text: String

    /// The word, or nil if it is not one.
    public init?(_ text: String) {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(Self.isWordByte) else { return nil }
        self.text = text
    }

    /// One of the known words.
    public init(_ platform: Platform) { text = platform.rawValue }

    /// The word.
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

/// The words that a backend has for services, and with them the words that clients may use: the backend's own, and the known
/// ones of each service that it has (contract: client rule 6). Without case, as far as clients are concerned.
public struct ServiceWords: Sendable, Hashable {
    /// A word that clients may use, in lower case.
    private struct Known: Hashable {
        let word: String
        let service: PushService
    }

    /// By the services' places.
    private let words: [ServiceWord?]
    // So few that going through them is sooner done than hashing.
    private let known: [Known]

    /// The words for the services, or nil where one would stand for two services: `gcm` is never anything but FCM.
    public init?(_ words: [PushService: ServiceWord]) {
        var services: [String: PushService] = [:]
        for (service, word) in words {
            let known = Platform(word: word.text)
            guard known == nil || known?.service == service,
                services.updateValue(service, forKey: word.text.asciiLowercased) == nil
            else { return nil }
        }
        self.init(words, services)
    }

    /// Known words, each for its own service; of two for one service the later counts.
    public init(_ platforms: [Platform]) {
        self.init(Dictionary(platforms.map { ($0.service, ServiceWord($0)) }) { $1 }, [:])
    }

    private init(_ words: [PushService: ServiceWord], _ own: [String: PushService]) {
        var services = own
        for known in Platform.allCases where words[known.service] != nil { services[known.rawValue] = known.service }
        self.words = PushService.allCases.map { words[$0] }
        known = services.map { Known(word: $0, service: $1) }.sorted { $0.word < $1.word }
    }

    /// The backend's word for the service; nil where it does not have the service.
    public subscript(service: PushService) -> ServiceWord? { words[service.place] }

    /// The service that a client means by the word, in any case; nil where the backend has no such service.
    func service(for word: String) -> PushService? {
        let word = word.asciiLowercased
        return known.first { $0.word == word }?.service
    }
}

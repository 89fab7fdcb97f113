/// The target of a request: `api/<controller>[/<id>]`, case-insensitive.
struct BackendRoute: Equatable {
    enum Controller: Equatable {
        case register
        case notifications
        case unknown(String)
    }

    let controller: Controller
    /// The id in the path, percent-decoded.
    let id: String?

    /// Parses a path and resolves its dot segments as the web server does. Returns nil if the path is not below
    /// `api/` or is too long.
    init?(path: some StringProtocol) {
        var segments: [String] = []
        for segment in path.split(separator: "/").map({ FormFields.decoded($0, plusIsSpace: false) }) {
            switch segment {
            case ".": continue
            case "..": _ = segments.popLast()
            default: segments.append(segment)
            }
        }
        guard path.first == "/", (2...3).contains(segments.count), segments[0].lowercased() == "api" else { return nil }
        switch segments[1].lowercased() {
        case "register": controller = .register
        case "notifications": controller = .notifications
        default: controller = .unknown(segments[1])
        }
        id = segments.count == 3 ? segments[2] : nil
    }
}

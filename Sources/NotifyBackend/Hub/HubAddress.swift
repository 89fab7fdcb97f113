/// The resource at the hub's URL `<hub>/registrations/<id>` after the URL's dot segments are resolved.
///
/// Backends insert the id unescaped into that URL, so the id `..` addresses the hub itself, with the backend's Manage
/// key.
enum HubAddress: Equatable {
    case hub
    case registration(String)

    /// Resolves an id. Throws ``HubFailure/notFound`` for an address without a resource.
    init(id: String) throws(HubFailure) {
        var path = ["registrations"]
        for segment in id.split(separator: "/", omittingEmptySubsequences: true) {
            switch segment {
            case ".": continue
            case "..": if path.isEmpty { throw .notFound } else { path.removeLast() }
            default: path.append(String(segment))
            }
        }
        switch (path.count, path.first) {
        case (0, _): self = .hub
        case (2, "registrations"): self = .registration(path[1])
        default: throw .notFound
        }
    }
}

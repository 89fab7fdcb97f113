/// The body of an upsert after model binding. A member that was absent, null or of another type is nil.
struct DeviceRegistration: Equatable {
    var platform: String?
    var handle: String?
    var tags: [String]?

    init(platform: String? = nil, handle: String? = nil, tags: [String]? = nil) {
        self.platform = platform
        self.handle = handle
        self.tags = tags
    }

    /// Reads the members of an object. Names are case-insensitive. With `scalarsAreText`, numbers and Booleans are
    /// converted to text, as Json.NET does.
    init(_ object: JSONValue, scalarsAreText: Bool) {
        func text(_ value: JSONValue?) -> String? {
            switch value {
            case .string(let text): text
            case .number(let text) where scalarsAreText: text
            case .bool(let value) where scalarsAreText: value ? "true" : "false"
            case nil, .null, .bool, .number, .array, .object: nil
            }
        }
        platform = text(object["Platform"])
        handle = text(object["Handle"])
        if case .array(let values)? = object["Tags"] {
            // A null tag is kept as an empty tag, which disappears when the tags are joined.
            let texts = values.map { $0 == .null ? "" : text($0) }
            tags = texts.contains(nil) ? nil : texts.compactMap { $0 }
        }
    }

    /// Reads the fields of a form. The tags are named `Tags`, `Tags[]` or `Tags[0]`.
    init(_ form: FormFields) {
        platform = form.first("Platform")
        handle = form.first("Handle")
        let values = form.fields.filter { field in
            let name = field.name.lowercased()
            return name == "tags" || name.hasPrefix("tags[")
        }
        tags = values.isEmpty ? nil : values.map(\.value)
    }
}

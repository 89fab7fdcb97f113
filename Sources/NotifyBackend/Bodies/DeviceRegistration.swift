/// The body of an upsert as the backend's model binder produces it. A member that is absent, null or of another type is
/// nil.
struct DeviceRegistration: Equatable {
    var platform: String?
    var handle: String?
    var tags: [String]?

    /// Reads the members of an object, with names compared without case. If `scalarsAreText` is true, numbers and
    /// Booleans are read as text, as Json.NET does.
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
            // A null tag becomes an empty text, which disappears when the tags are joined.
            let texts = values.map { $0 == .null ? "" : text($0) }
            tags = texts.contains(nil) ? nil : texts.compactMap { $0 }
        }
    }

    /// Reads the fields of a form. Tags are named `Tags`, `Tags[]` or `Tags[0]`.
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

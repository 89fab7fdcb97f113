/// A parser of request bodies that behaves like the framework of a flavour.
struct BodyReader {
    /// The result of parsing a body.
    enum Reading<Model: Equatable>: Equatable {
        case model(Model)
        /// The body is not usable. `classic` continues with null; the other flavours reject the request.
        case unreadable
        case unsupportedMediaType
    }

    let flavor: BackendFlavor

    /// Parses the message of a send: one string.
    func message(_ body: [UInt8], contentType: String?) -> Reading<String> {
        switch flavor {
        case .core, .net6:
            return strict(body, contentType) { value in
                if case .string(let text) = value { text } else { nil }
            }
        case .classic:
            return lenient(body, contentType) { value in
                switch value {
                case .string(let text), .number(let text): text
                case .bool(let value): value ? "true" : "false"
                case .null, .array, .object: nil
                }
            } form: { form in
                form.first("")
            } xml: { text in
                XMLString.content(of: text)
            }
        }
    }

    /// Parses the registration of an upsert: one object.
    func registration(_ body: [UInt8], contentType: String?) -> Reading<DeviceRegistration> {
        switch flavor {
        case .core, .net6:
            return strict(body, contentType) { value in
                guard case .object = value else { return nil }
                return DeviceRegistration(value, scalarsAreText: false)
            }
        case .classic:
            return lenient(body, contentType) { value in
                guard case .object = value else { return nil }
                return DeviceRegistration(value, scalarsAreText: true)
            } form: { form in
                DeviceRegistration(form)
            } xml: { _ in
                nil
            }
        }
    }

    private func strict<Model>(
        _ body: [UInt8],
        _ contentType: String?,
        _ bind: (JSONValue) -> Model?
    ) -> Reading<Model> {
        let type = MediaType(contentType ?? "")
        guard type.essence == "application/json" || type.essence == "text/json" || type.essence.hasSuffix("+json")
        else {
            return .unsupportedMediaType
        }
        guard let text = Self.transcoded(body, type.charset), let value = try? JSONReader.read(text, .strict),
            let model = bind(value)
        else { return .unreadable }
        return .model(model)
    }

    private func lenient<Model>(
        _ body: [UInt8],
        _ contentType: String?,
        json: (JSONValue) -> Model?,
        form: (FormFields) -> Model?,
        xml: (String) -> Model?
    ) -> Reading<Model> {
        // Web API requires no media type if there is no body; the parameter is null then.
        guard !body.isEmpty else { return .unreadable }
        let type = MediaType(contentType ?? "application/octet-stream")
        let text = Self.transcoded(body, type.charset)
        let model: Model?
        switch type.essence {
        case "application/json", "text/json":
            model = text.flatMap { try? JSONReader.read($0, .lenient) }.flatMap(json)
        case "application/x-www-form-urlencoded":
            model = form(FormFields(String(decoding: body, as: UTF8.self)))
        case "application/xml", "text/xml":
            model = text.flatMap { String(validating: $0, as: UTF8.self) }.flatMap(xml)
        default: return .unsupportedMediaType
        }
        return model.map { .model($0) } ?? .unreadable
    }

    /// Converts the body to UTF-8. Both frameworks support UTF-8 and little-endian UTF-16. Returns nil for invalid
    /// UTF-16.
    private static func transcoded(_ body: [UInt8], _ charset: String?) -> [UInt8]? {
        switch charset {
        case nil, "utf-8", "utf8": return body
        case "utf-16", "utf-16le", "unicode":
            guard body.count.isMultiple(of: 2) else { return nil }
            var units = stride(from: 0, to: body.count, by: 2).map { UInt16(body[$0]) | UInt16(body[$0 + 1]) << 8 }
            if units.first == 0xFEFF { units.removeFirst() }
            return String(validating: units, as: UTF16.self).map { Array($0.utf8) }
        default: return body
        }
    }
}

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

/// A media type with its charset, as in `application/json; charset=utf-8`.
struct MediaType: Equatable {
    /// The type and subtype in lower case.
    let essence: String
    /// The charset in lower case, without quotes; nil if none is given.
    let charset: String?

    /// Parses a `Content-Type` value. Parameters other than `charset` are ignored.
    init(_ value: String) {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false).map { Self.trimmed($0) }
        essence = parts.first?.lowercased() ?? ""
        charset =
            parts.dropFirst().lazy.compactMap { part -> String? in
                let pair = part.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, Self.trimmed(pair[0]).lowercased() == "charset" else { return nil }
                return Self.trimmed(pair[1]).filter { $0 != "\"" }.lowercased()
            }.first
    }

    /// Returns the text without surrounding spaces and tabs.
    static func trimmed(_ text: some StringProtocol) -> String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}

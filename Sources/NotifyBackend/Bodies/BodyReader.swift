/// Parses the bodies of the calls as a flavour's framework does.
struct BodyReader {
    /// The result of parsing a body.
    enum Reading<Model: Equatable>: Equatable {
        case model(Model)
        /// The body cannot be parsed. `classic` continues with null; the other flavours reject the request.
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
        // Web API requires no content type for an empty body; the parameter is null.
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

    /// Returns the body in UTF-8, or nil if its encoding is invalid. Both frameworks support UTF-8 and little-endian
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

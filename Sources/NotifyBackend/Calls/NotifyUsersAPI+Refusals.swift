/// How a flavour says that a request does not bind to the call's parameters.
extension NotifyUsersAPI {
    /// The stricter flavours' 400 for parameters that are missing.
    func invalid(_ names: [String]) -> BackendAnswer {
        guard flavor == .core else {
            return .text(400, "Missing: " + names.joined(separator: ", ") + ".")
        }
        let errors = names.map { ($0, "The \($0) field is required.") }
        return .problem(
            400,
            "One or more validation errors occurred.",
            errors: Dictionary(errors) { first, _ in first }
        )
    }

    /// A body that is not what the call takes. `classic` goes on with null and fails over it.
    var unreadableBody: BackendAnswer {
        switch flavor {
        case .classic: serverError
        case .core:
            .problem(
                400,
                "One or more validation errors occurred.",
                errors: ["$": "The JSON value could not be converted."]
            )
        case .net6: .text(400, "The body is not valid JSON.")
        }
    }

    /// A body of a type that the framework has no reader for.
    func unsupportedMediaType(_ request: BackendRequest) -> BackendAnswer {
        switch flavor {
        case .classic:
            let type = MediaType(request.contentType ?? "application/octet-stream").essence
            return .message(415, "The request entity's media type '\(type)' is not supported for this resource.")
        case .core: return .problem(415, "Unsupported Media Type")
        case .net6: return BackendAnswer(415)
        }
    }

    /// Web API's 404 for a request that lacks a parameter of every action.
    func noAction(_ request: BackendRequest, controller: String) -> BackendAnswer {
        notFound(request, detail: "No action was found on the controller '\(controller)' that matches the request.")
    }
}

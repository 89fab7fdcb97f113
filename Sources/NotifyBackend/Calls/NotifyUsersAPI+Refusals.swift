/// The responses of a flavour to requests that do not bind to the call's parameters.
extension NotifyUsersAPI {
    /// Returns the 400 of the stricter flavours for missing parameters.
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

    /// The response to a body that the call cannot parse. `classic` continues with null and fails with 500.
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

    /// Returns the response to a body of a type that the framework cannot read.
    func unsupportedMediaType(_ request: BackendRequest) -> BackendAnswer {
        switch flavor {
        case .classic:
            let type = MediaType(request.contentType ?? "application/octet-stream").essence
            return .message(415, "The request entity's media type '\(type)' is not supported for this resource.")
        case .core: return .problem(415, "Unsupported Media Type")
        case .net6: return BackendAnswer(415)
        }
    }

    /// Returns Web API's 404 for a request without the parameters of any action.
    func noAction(_ request: BackendRequest, controller: String) -> BackendAnswer {
        notFound(request, detail: "No action was found on the controller '\(controller)' that matches the request.")
    }
}

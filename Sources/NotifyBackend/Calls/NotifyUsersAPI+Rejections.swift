/// The responses of a flavour to a request that does not bind to the parameters of a call.
extension NotifyUsersAPI {
    /// Returns the 400 of the stricter flavours for missing parameters.
    func invalid(_ names: [String]) -> BackendResponse {
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

    /// The response to a body that cannot be parsed. `classic` continues with null and fails because of it.
    var unreadableBody: BackendResponse {
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

    /// Returns the response to a media type that the framework does not support.
    func unsupportedMediaType(_ request: BackendRequest) -> BackendResponse {
        switch flavor {
        case .classic:
            let type = MediaType(request.contentType ?? "application/octet-stream").essence
            return .message(415, "The request entity's media type '\(type)' is not supported for this resource.")
        case .core: return .problem(415, "Unsupported Media Type")
        case .net6: return BackendResponse(415)
        }
    }

    /// Returns Web API's 404 for a request that lacks a parameter of every action.
    func noAction(_ request: BackendRequest, controller: String) -> BackendResponse {
        notFound(request, detail: "No action was found on the controller '\(controller)' that matches the request.")
    }
}

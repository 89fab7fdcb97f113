/// `POST /api/notifications`.
extension NotifyUsersAPI {
    /// Sends `From <user>: <message>` to every registration with one of the tags `username:<to_tag>` and `from:<user>`.
    /// Both values are pasted into the hub's tag expression without escaping.
    func send(_ request: BackendRequest, _ query: FormFields, user: String) -> BackendResponse {
        let (pnsValue, recipient) = (query.first("pns"), query.first("to_tag"))
        if flavor == .classic, pnsValue == nil || recipient == nil {
            return noAction(request, controller: "Notifications")
        }
        let message: String
        switch BodyReader(flavor: flavor).message(request.body, contentType: request.contentType) {
        case .model(let text): message = text
        case .unsupportedMediaType where flavor != .classic || !request.body.isEmpty:
            return unsupportedMediaType(request)
        case .unreadable where flavor != .classic: return unreadableBody
        // A classic backend continues with null, which becomes an empty notification.
        case .unreadable, .unsupportedMediaType: message = ""
        }
        if flavor != .classic {
            let missing = [("pns", pnsValue), ("to_tag", recipient)].filter { $0.1?.isEmpty != false }.map(\.0)
            if !missing.isEmpty { return invalid(missing) }
        }
        guard let pnsValue, let recipient, !pnsValue.isEmpty else { return serverError }
        guard let pns = flavor.pns(pnsValue),
            let payload = PayloadTemplate.payload(pns: pns, user: user, message: message)
        else { return BackendResponse(500) }
        do throws(HubFailure) {
            try hub.send(payload, pns: pns, to: "username:" + recipient + "||" + "from:" + user)
            return BackendResponse(200)
        } catch {
            return serverError
        }
    }
}

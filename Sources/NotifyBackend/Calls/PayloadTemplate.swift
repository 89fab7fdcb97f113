/// The payloads of the tutorial (contract: payloads). The user and the message are inserted unescaped, so quotes or
/// angle brackets in a message become JSON members or XML elements.
enum PayloadTemplate {
    /// Returns the payload for a lower-case `pns` word; nil for a word without a payload.
    static func payload(pns: String, user: String, message: String) -> String? {
        let text = "From " + user + ": " + message
        switch pns {
        case "apns":
            return "{\"aps\":{\"alert\":\"" + text + "\"}}"
        case "gcm", "fcm":
            return "{ \"data\" : {\"message\":\"" + text + "\"}}"
        case "fcmv1":
            return "{ \"message\":{\"data\" : {\"message\":\"" + text + "\"}}}"
        case "wns":
            return "<toast><visual><binding template=\"ToastText01\"><text id=\"1\">" + text
                + "</text></binding></visual></toast>"
        default:
            return nil
        }
    }
}

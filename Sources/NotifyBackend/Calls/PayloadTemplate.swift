/// The payloads of the tutorial (contract: payloads). User and message are pasted without escaping, so that quotes or
/// angle brackets in a message inject JSON members or XML elements.
enum PayloadTemplate {
    /// Returns the payload for a lower-case `pns` name; nil for a name without a payload.
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

/// Lines of an export in the format of a hub.
enum ExportLine {
    static func apple(_ id: String, _ token: String, tags: String) -> String {
        entry("AppleRegistrationDescription", id, "<DeviceToken>\(token)</DeviceToken>", tags: tags)
    }

    /// A line of the hub's export job.
    static func job(_ kind: String, _ id: String, _ handle: String, tags: String = "username:alice") -> String {
        """
        <RegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="\(kind)" \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><ETag>1</ETag>\
        <ExpirationTime>9999-12-31T23:59:59.9999999Z</ExpirationTime><RegistrationId>\(id)</RegistrationId>\
        <Tags>\(tags)</Tags>\(handle)</RegistrationDescription>
        """
    }

    static func entry(_ kind: String, _ id: String, _ handle: String, tags: String) -> String {
        """
        <entry xmlns="http://www.w3.org/2005/Atom"><id>https://hub.example/registrations/\(id)?api-version=2014-09</id>\
        <title type="text">\(id)</title><content type="application/xml"><\(kind) \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
        xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><ETag>3</ETag><ExpirationTime>9999-12-31T23:59:59.999Z\
        </ExpirationTime><RegistrationId>\(id)</RegistrationId><Tags>\(tags)</Tags>\(handle)</\(kind)></content></entry>
        """
    }
}

internal import Gateway
internal import NIOCore

extension UpstreamConnectionPool {
    /// Starts the periodic health checks of all addresses. Only one loop runs them, on behalf of all loops.
    func startChecks() {
        guard let check = configuration.check, !isShutDown else { return }
        for destination in destinations {
            let request = ByteBuffer(
                string: "GET \(check.path) HTTP/1.1\r\nHost: \(configuration.host)\r\nAccept: */*\r\n\r\n")
            sendCheck(destination, request, check)
        }
    }

    private func sendCheck(
        _ destination: UpstreamDestination, _ request: ByteBuffer, _ check: UpstreamConfiguration.Check
    ) {
        if isShutDown { return }
        let exchange = PendingExchange(
            bytes: request, mayBeRepeated: false, deadline: eventLoop.now + check.timeout
        ) { result in
            switch result {
            case .responded(let response): destination.health.isGood = response.status < 500
            case .unreachable, .broken, .timedOut: destination.health.isGood = false
            // These results say nothing about the backend.
            case .gatewayStopped, .overloaded, .circuitOpen: break
            }
            let loop = NIOLoopBound(self, eventLoop: self.eventLoop)
            let place = NIOLoopBound(destination, eventLoop: self.eventLoop)
            self.checks.append(
                self.eventLoop.scheduleTask(in: check.period) {
                    loop.value.checks.removeFirst()
                    loop.value.sendCheck(place.value, request, check)
                })
        }
        // A health check ignores the circuit breaker: it tests whether the address responds.
        connect(for: exchange, to: destination, isCheck: true)
    }

    /// Schedules the probe connection of an open circuit. No call waits for it.
    func scheduleHalfOpenProbe(of destination: UpstreamDestination) {
        guard let retry = destination.circuit.retry, !isShutDown else { return }
        destination.halfOpenProbe?.cancel()
        destination.halfOpenProbe = eventLoop.assumeIsolated().scheduleTask(deadline: retry) {
            self.startProbe(destination)
        }
    }

    private func startProbe(_ destination: UpstreamDestination) {
        destination.halfOpenProbe = nil
        if isShutDown { return }
        destination.circuit.beginHalfOpen()
        connect(for: nil, to: destination, isCheck: true)
    }
}

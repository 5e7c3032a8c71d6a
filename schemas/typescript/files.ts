import a2a from '../json/a2a/v1.0/a2a.json' with { type: 'json' }
import agentAnnouncement10 from '../json/v1.0.0/agent-announcement-message.json' with { type: 'json' }
import authenticated10 from '../json/v1.0.0/authenticated-message.json' with { type: 'json' }
import base10 from '../json/v1.0.0/base-message.json' with { type: 'json' }
import discoverAgents10 from '../json/v1.0.0/discover-agents-message.json' with { type: 'json' }
import error10 from '../json/v1.0.0/error-message.json' with { type: 'json' }
import handshake10 from '../json/v1.0.0/handshake-message.json' with { type: 'json' }
import request10 from '../json/v1.0.0/request-message.json' with { type: 'json' }
import response10 from '../json/v1.0.0/response-message.json' with { type: 'json' }
import agentAnnouncement11 from '../json/v1.1.0/agent-announcement-message.json' with { type: 'json' }
import authenticated11 from '../json/v1.1.0/authenticated-message.json' with { type: 'json' }
import base11 from '../json/v1.1.0/base-message.json' with { type: 'json' }
import discoverAgents11 from '../json/v1.1.0/discover-agents-message.json' with { type: 'json' }
import error11 from '../json/v1.1.0/error-message.json' with { type: 'json' }
import goodbye11 from '../json/v1.1.0/goodbye-message.json' with { type: 'json' }
import handshakeAck11 from '../json/v1.1.0/handshake-ack-message.json' with { type: 'json' }
import handshake11 from '../json/v1.1.0/handshake-message.json' with { type: 'json' }
import request11 from '../json/v1.1.0/request-message.json' with { type: 'json' }
import response11 from '../json/v1.1.0/response-message.json' with { type: 'json' }

export { a2a }

/** The address under which the schemas are published. */
export const base = 'https://parley.dev/schemas'

/** The one of their first description, at the domain of another protocol: only read. */
export const aliasBase = 'https://a2a-protocol.org/schemas'

export const meshFiles = {
  '1.0.0': [
    base10,
    request10,
    response10,
    handshake10,
    error10,
    discoverAgents10,
    agentAnnouncement10,
    authenticated10,
  ],
  '1.1.0': [
    base11,
    request11,
    response11,
    handshake11,
    handshakeAck11,
    error11,
    discoverAgents11,
    agentAnnouncement11,
    goodbye11,
    authenticated11,
  ],
}

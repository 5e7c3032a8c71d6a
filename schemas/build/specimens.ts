import type { MeshEnvelope, MessageType } from '../../src/mesh/envelope.ts'

const time = '2026-01-31T12:00:00.000Z'
const question = '3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59'
const answer = '7c9e6679-7425-40de-944b-e07fc1f90ae7'

const shop = { sender_id: 'shop-agent', recipient_id: 'price-agent', timestamp: time }
const price = { sender_id: 'price-agent', recipient_id: 'shop-agent', timestamp: time }

const shopCard = {
  agent_id: 'shop-agent',
  name: 'Shop',
  version: '1.2.0',
  description: 'Buys things when they are cheap.',
  capabilities: ['purchasing'],
  supported_protocols: ['A2A/1.0'],
}

export const signature = {
  agent_id: 'shop-agent',
  timestamp: time,
  nonce: '9f86d081884c7d659a2feaa0c55ad015',
  signature: `${'A'.repeat(85)}Q==`,
  public_key_fingerprint: `sha256:${'0a'.repeat(32)}`,
}

/** One envelope of each type, as shown in the documentation. */
export const specimens: { readonly [Type in MessageType]: Extract<MeshEnvelope, { message_type: Type }> } = {
  request: {
    message_id: question,
    message_type: 'request',
    ...shop,
    payload: { method: 'get_price', parameters: { symbol: 'TEA', currency: 'EUR' } },
    correlation_id: null,
  },
  response: {
    message_id: answer,
    message_type: 'response',
    ...price,
    payload: { status: 'success', data: { symbol: 'TEA', price: 4.25, currency: 'EUR' } },
    correlation_id: question,
  },
  handshake: {
    message_id: question,
    message_type: 'handshake',
    ...shop,
    payload: { agent_card: shopCard },
    correlation_id: null,
  },
  handshake_ack: {
    message_id: answer,
    message_type: 'handshake_ack',
    ...price,
    payload: {
      accepted: true,
      agent_card: { ...shopCard, agent_id: 'price-agent', name: 'Prices', schema_versions: ['1.0.0', '1.1.0'] },
      selected_protocol: 'A2A/1.0',
      schema_version: '1.1.0',
    },
    correlation_id: question,
  },
  error: {
    message_id: answer,
    message_type: 'error',
    ...price,
    payload: {
      error: {
        code: 'RATE_LIMIT_EXCEEDED',
        message: 'Too many requests: try again in 3 seconds.',
        details: { limit: 100 },
        retry_after: 3,
        documentation_url: 'https://example.com/limits',
      },
    },
    correlation_id: question,
  },
  discover_agents: {
    message_id: question,
    message_type: 'discover_agents',
    ...shop,
    recipient_id: 'registry',
    payload: { capabilities: ['prices'], filters: { status: 'healthy', max_results: 10 } },
    correlation_id: null,
  },
  agent_announcement: {
    message_id: answer,
    message_type: 'agent_announcement',
    ...price,
    sender_id: 'registry',
    payload: {
      agents: [
        {
          agent_id: 'price-agent',
          name: 'Prices',
          capabilities: ['prices'],
          status: 'healthy',
          endpoint: 'https://prices.example.com/mesh',
          last_heartbeat: time,
        },
      ],
      total_count: 1,
      query_time_ms: 0.4,
    },
    correlation_id: question,
  },
  goodbye: {
    message_id: question,
    message_type: 'goodbye',
    ...shop,
    payload: { reason: 'Closing time.', reconnect_after: 60 },
    correlation_id: null,
  },
}

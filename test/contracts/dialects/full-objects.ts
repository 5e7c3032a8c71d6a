import type { AgentCard } from '../../../src/core/protocol/card.ts'
import type { Task, TaskState } from '../../../src/core/protocol/model.ts'
import type { PushConfig, SendRequest } from '../../../src/core/protocol/service.ts'

// Objects of the model with all members, to find out which ones a dialect loses.

const timestamp = '2026-05-01T08:00:00.000Z'

export const fullTask: Task = {
  id: 'T',
  contextId: 'C',
  status: {
    state: 'working',
    timestamp,
    message: { messageId: 'm-2', role: 'agent', parts: [{ text: 'On it' }], taskId: 'T', contextId: 'C' },
  },
  artifacts: [
    {
      artifactId: 'A',
      name: 'report.md',
      description: 'All of it',
      parts: [
        { text: 'a', mediaType: 'text/markdown', filename: 'a.md', metadata: { n: 1 } },
        { raw: '//77', mediaType: 'image/png', filename: 'a.png' },
        { url: 'https://example.com/a', mediaType: 'text/html', filename: 'a.html' },
        { data: { k: 1 }, mediaType: 'application/json' },
        { data: [1, 2] },
      ],
      extensions: ['https://example.com/ext'],
      metadata: { size: 1 },
    },
  ],
  history: [
    {
      messageId: 'm-1',
      role: 'user',
      parts: [{ text: 'Go' }],
      taskId: 'T',
      contextId: 'C',
      referenceTaskIds: ['R'],
      extensions: ['https://example.com/ext'],
      metadata: { k: 0 },
    },
  ],
  metadata: { plan: 'x' },
  generation: 0,
}

export const states: readonly TaskState[] = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'canceled',
  'rejected',
]

export const fullPushConfig: PushConfig = {
  taskId: 'T',
  id: 'P',
  url: 'https://example.com/hook',
  token: 'k',
  authentication: { scheme: 'Bearer', credentials: 's' },
}

export const fullSend: SendRequest = {
  message: fullTask.history[0] ?? { messageId: 'm', role: 'user', parts: [] },
  configuration: { acceptedOutputModes: ['text/plain'], historyLength: 3, returnImmediately: true },
  metadata: { k: 1 },
}

export const fullCard = (protocolVersion: string): AgentCard => ({
  name: 'Echo',
  description: 'Repeats input',
  version: '2.1.0',
  interfaces: [{ url: 'https://example.com/', binding: 'JSONRPC', protocolVersion, tenant: 'acme' }],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extendedCard: true,
    extensions: [{ uri: 'https://example.com/ext', description: 'More', required: true, params: { a: 1 } }],
  },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 'echo',
      name: 'Echo',
      description: 'Repeats',
      tags: ['demo'],
      examples: ['Say hi'],
      inputModes: ['text/plain'],
      outputModes: ['text/plain'],
      security: [{ jwt: ['read'] }],
    },
  ],
  provider: { organization: 'Example', url: 'https://example.com' },
  documentationUrl: 'https://example.com/docs',
  iconUrl: 'https://example.com/icon.png',
  securitySchemes: {
    jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token' },
    code: {
      type: 'oauth2',
      flow: {
        type: 'authorization-code',
        authorizationUrl: 'https://example.com/authorize',
        tokenUrl: 'https://example.com/token',
        refreshUrl: 'https://example.com/refresh',
        scopes: { read: 'Reads' },
        pkceRequired: true,
      },
      metadataUrl: 'https://example.com/oauth',
    },
    device: {
      type: 'oauth2',
      flow: {
        type: 'device-code',
        deviceAuthorizationUrl: 'https://example.com/device',
        tokenUrl: 'https://example.com/token',
        scopes: { read: 'Reads' },
      },
    },
  },
  security: [{ jwt: ['read'] }],
  signatures: [{ protected: 'e30', signature: 'c2ln', header: { kid: '1' } }],
})

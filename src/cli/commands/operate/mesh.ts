import { readFileSync } from 'node:fs'
import { isObject, type JsonObject } from '../../../core/base/json.ts'
import type { MeshLink } from '../../../entries/mesh.ts'
import { createFetch } from '../../agent.ts'
import { agentOptions, type Command, type Context, type Option } from '../../command.ts'
import { CliError, type LocalCode, usageError } from '../../errors.ts'

const { 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } = agentOptions

const peerOptions: Readonly<Record<string, Option>> = {
  peer: { type: 'text', value: 'id', summary: 'The agent id of the peer. Answers of other agents are rejected.' },
  'signing-key': {
    type: 'text',
    value: 'file',
    summary: 'The private key to sign with, as parley mesh keygen --to writes it.',
    default: 'a new key',
    complete: 'file',
  },
  as: { type: 'text', value: 'id', summary: 'The agent id to send as.', default: 'parley-cli' },
  'peer-key': {
    type: 'text',
    value: 'file',
    summary: 'The public key of the peer. Without it, the key of its handshake is trusted.',
    complete: 'file',
  },
  ...({ 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } as Readonly<Record<string, Option>>),
}

export const meshPing: Command = {
  description: 'Makes a handshake with a mesh peer, and shows its card and how long it took. Says goodbye afterwards.',
  positionals: [{ name: 'endpoint', summary: 'The URL that accepts its envelopes.' }],
  options: peerOptions,
  examples: [{ line: 'parley mesh ping https://peer.example/mesh --peer price-agent', summary: 'Is the peer there?' }],
  async run(context) {
    const { output } = context
    await withLink(context, async (link) => {
      const start = performance.now()
      const { card } = await link.handshake({ signal: context.signal })
      const milliseconds = Math.round(performance.now() - start)
      if (output.mode === 'json') return output.document(JSON.parse(JSON.stringify({ card, milliseconds })))
      output.field('Peer', card.agent_id)
      output.field('Name', card.name)
      output.field('Capabilities', card.capabilities.join(', '))
      output.field('Milliseconds', `${milliseconds}`)
    })
  },
}

export const meshSend: Command = {
  description: 'Makes a handshake with a mesh peer, calls one of its methods and shows the answer.',
  positionals: [
    { name: 'endpoint', summary: 'The URL that accepts its envelopes.' },
    { name: 'method', summary: 'The method to call.' },
  ],
  options: {
    ...peerOptions,
    parameters: { type: 'text', value: 'json', summary: 'The parameters, as a JSON object.', default: '{}' },
  },
  examples: [
    {
      line: `parley mesh send https://peer.example/mesh get_price --peer price-agent --parameters '{"symbol":"TEA"}'`,
      summary: 'Call a method',
    },
  ],
  async run(context) {
    const { output, settings, positionals, signal } = context
    const parameters = readParameters(settings.text('parameters') ?? '{}')
    await withLink(context, async (link) => {
      await link.handshake({ signal })
      output.document(await link.request(positionals[1] ?? '', parameters, { signal }))
    })
  },
}

async function withLink(context: Context, work: (link: MeshLink) => Promise<void>): Promise<void> {
  const { settings, positionals } = context
  const [endpoint = ''] = positionals
  const agentId = settings.text('peer')
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint)) {
    throw usageError(`Expected the URL of a peer, got "${endpoint}".`)
  }
  if (agentId === undefined) throw usageError('Which peer? Pass --peer <agent id>.')
  const mesh = await import('../../../entries/mesh.ts')
  const read = (name: string) => readKey(name, settings.text(name))
  const [privateKey, peerKey] = [read('signing-key'), read('peer-key')]
  const name = settings.text('as') ?? 'parley-cli'
  try {
    const peer = mesh.createMeshPeer({
      card: {
        agent_id: name,
        name,
        version: '1.0.0',
        description: 'The command line of Parley.',
        capabilities: ['command-line'],
        supported_protocols: ['A2A/1.0'],
      },
      key: privateKey === undefined ? await mesh.generateSigningKey() : await mesh.importSigningKey(privateKey),
      ...(peerKey === undefined
        ? { firstHandshake: mesh.firstHandshakeKeys() }
        : { keys: await mesh.configuredKeys({ [agentId]: peerKey }) }),
    })
    const link = peer.link({ agentId, endpoint, fetch: createFetch(context, { type: 'url', url: endpoint }) })
    await work(link)
    // The answer counts, even if the peer does not take leave.
    await link.goodbye({}, { signal: context.signal, timeout: 5_000 }).catch(() => {})
  } catch (error) {
    throw explain(error, agentId, mesh)
  }
}

function explain(
  error: unknown,
  agentId: string,
  { MeshError, MeshRefusal }: typeof import('../../../entries/mesh.ts'),
) {
  if (error instanceof MeshRefusal) {
    return new CliError('A2ACLI_ERR_INTERNAL', `${agentId} refused the request: ${error.message} (${error.code})`)
  }
  if (!(error instanceof MeshError)) return error
  return new CliError(localCodes[error.code] ?? 'A2ACLI_ERR_INTERNAL', `${error.message} (${error.code})`, {
    cause: error,
  })
}

const localCodes: Readonly<Record<string, LocalCode>> = {
  SERVICE_UNAVAILABLE: 'A2ACLI_ERR_UNREACHABLE',
  TIMEOUT: 'A2ACLI_ERR_TIMEOUT',
  AUTHENTICATION_FAILED: 'A2ACLI_ERR_AUTH_FAILED',
  FORBIDDEN: 'A2ACLI_ERR_AUTH_FAILED',
}

function readKey(name: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw usageError(`--${name}: the file ${path} cannot be read.`)
  }
}

function readParameters(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Reported below.
  }
  if (!isObject(value)) throw usageError(`--parameters: expected a JSON object, got "${text}".`)
  return value
}

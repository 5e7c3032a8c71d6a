import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { JsonObject } from '../../../core/base/json.ts'
import type { Command, Context } from '../../command.ts'
import { usageError } from '../../errors.ts'

const to = {
  type: 'text',
  value: 'file',
  summary: 'Write the secret part to this new file, which only you can read. Defaults to stdout.',
  complete: 'file',
  onlyFlag: true,
} as const

export const keysNew: Command = {
  description:
    'Creates a key. A signing key signs cards and webhooks: its private part is for the agent, its public part for callers. An API key is for a caller; the agent stores only its hash.',
  options: {
    type: {
      type: 'text',
      value: 'kind',
      summary: 'What the key is for.',
      choices: ['signing', 'api-key'],
      default: 'signing',
    },
    alg: {
      type: 'text',
      value: 'name',
      summary: 'The algorithm of a signing key.',
      choices: ['ES256', 'EdDSA'],
      default: 'ES256',
    },
    kid: { type: 'text', value: 'id', summary: 'The name of a signing key.', default: 'a random one' },
    to,
  },
  examples: [
    { line: 'parley keys new --to signing-key.json > jwks.json', summary: 'A key to sign cards, and its key set' },
    { line: 'parley keys new --type api-key', summary: 'A key for a caller, and its hash for the agent' },
  ],
  async run(context) {
    const { settings, output } = context
    const { newApiKey, hashApiKey, newSigningKey } = await import('../../../entries/auth.ts')
    if (settings.text('type') === 'api-key') {
      const key = newApiKey()
      const hash = await hashApiKey(key)
      return finish(context, key, { key }, { hash })
    }
    const alg = settings.text('alg') === 'EdDSA' ? 'EdDSA' : 'ES256'
    const signing = await newSigningKey(alg, settings.text('kid'))
    const { d: _, ...publicKey } = signing.key
    const jwks = { keys: [{ ...publicKey, kid: signing.kid, alg, use: 'sig' }] } as unknown as JsonObject
    const secret = JSON.stringify(signing)
    if (settings.text('to') === undefined) return output.document({ signingKey: JSON.parse(secret), jwks })
    writeSecret(context, secret)
    output.document(jwks)
  },
}

export const meshKeygen: Command = {
  description: 'Creates a signing key for a mesh peer: a private key for the peer, and a public key for the others.',
  options: {
    kind: {
      type: 'text',
      value: 'name',
      summary: 'The kind of key.',
      choices: ['Ed25519', 'P-256'],
      default: 'Ed25519',
    },
    to,
  },
  examples: [{ line: 'parley mesh keygen --to peer.pem', summary: 'A key in a file, and its public part on stdout' }],
  async run(context) {
    const { importPublicKey } = await import('../../../entries/mesh.ts')
    const pair =
      context.settings.text('kind') === 'P-256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519')
    const privateKey = `${pair.privateKey.export({ type: 'pkcs8', format: 'pem' })}`
    const publicKey = `${pair.publicKey.export({ type: 'spki', format: 'pem' })}`
    const { fingerprint } = await importPublicKey(publicKey)
    finish(context, privateKey, { privateKey }, { publicKey, fingerprint })
  },
}

/** Prints the public part, and the secret part unless it goes to a file. */
function finish(
  context: Context,
  secret: string,
  secretFields: Readonly<Record<string, string>>,
  publicFields: Readonly<Record<string, string>>,
): void {
  const { output, settings } = context
  const isFile = settings.text('to') !== undefined
  if (isFile) writeSecret(context, secret)
  const fields = { ...(isFile ? {} : secretFields), ...publicFields }
  if (output.mode === 'json') return void output.document(fields)
  for (const [name, value] of Object.entries(fields)) output.field(labels[name] ?? name, value)
}

const labels: Readonly<Record<string, string>> = {
  key: 'Key',
  hash: 'Hash',
  privateKey: 'Private key',
  publicKey: 'Public key',
  fingerprint: 'Fingerprint',
}

function writeSecret({ settings, output }: Context, secret: string): void {
  const path = settings.text('to') ?? ''
  try {
    writeFileSync(path, secret.endsWith('\n') ? secret : `${secret}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    throw usageError(isThere ? `${path} exists, and a key replaces no file.` : `${path} cannot be written.`)
  }
  output.note(`The secret part is in ${path}, which only you can read.`)
}

import { isObject, type JsonObject } from '../../core/base/json.ts'
import { readPeerCard } from '../../core/dialects/peer-card.ts'
import type { AgentCard } from '../../entries/client.ts'
import { fetchCard, openAgent } from '../agent.ts'
import { printCard } from '../cards/render-card.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { CliError } from '../errors.ts'

export const cardGet: Command = {
  description:
    'Without a path, the card is searched at /.well-known/agent-card.json. A card in a file or behind a catalog entry works as well. Signatures are reported as verified, unverifiable or absent; a card without a signature is not an error.',
  positionals: [{ name: 'agent', summary: 'The agent, as --agent-card.', optional: true, complete: 'agent' }],
  options: {
    ...agentOptions,
    validate: { type: 'flag', summary: 'Check the card against the schema. Fails if it breaks it.' },
    extended: { type: 'flag', summary: 'Fetch the extended card, which needs credentials.' },
    jwks: {
      type: 'text',
      value: 'url|file',
      summary: 'Keys to verify the signatures with. Defaults to those on the origin of the card.',
      complete: 'file',
    },
  },
  examples: [
    { line: 'parley card get -a agent.example.com', summary: 'Show the card of a host' },
    { line: 'parley card get -a ./card.json --validate', summary: 'Check a card before it is published' },
    { line: 'parley card get -a https://agent.example.com --extended -o json', summary: 'The extended card, as JSON' },
    { line: 'parley card get -a https://example.com/ai-catalog.json#Reporter', summary: 'The card of a catalog entry' },
  ],
  async run(context) {
    const { settings, output } = context
    const done = output.progress('Fetching the card…')
    const wire = settings.flag('extended') ? await fetchExtendedCard(context) : (await fetchCard(context)).wire
    done()
    const { validateCard } = await import('../../conformance/doctor/validate-card.ts')
    const { violations, readable } = settings.flag('validate')
      ? await validateCard(wire)
      : { violations: undefined, readable: wire }
    const signature = await signatureOf(wire, context)
    const isValid = violations && violations.length === 0
    if (output.mode === 'text') {
      const { card } = await readPeerCard(wire).catch(() => readPeerCard(readable))
      printCard(card, { signature, output, isValid })
      for (const violation of violations ?? []) output.field('Violation', violation)
    } else output.detail(`Signature: ${signature}`)
    // The error is the only document of a card that breaks the schema.
    if (output.mode === 'json' && isValid !== false) output.document(wire)
    if (violations && violations.length > 0) {
      const problem =
        output.mode === 'json' ? violations.join('; ') : `${violations.length} of its members are not as they must be`
      throw new CliError('A2ACLI_ERR_CARD_INVALID', `The card breaks the schema: ${problem}.`, {
        hint: 'Correct the members that are named, or look for what else is wrong: parley doctor <url>.',
      })
    }
  },
}

/** The extended card is fetched only with a scheme that the card declares (A2A 1.0 §3.1.11). */
async function fetchExtendedCard(context: Context): Promise<JsonObject> {
  const { client, call } = await openAgent(context)
  requireScheme(client.card, context)
  const extended = await client.extendedCard(call)
  const { encodeCard } = await import('../../core/dialects/v1.0/card.ts')
  return encodeCard(extended)
}

function requireScheme({ name, capabilities, securitySchemes = {} }: AgentCard, { settings }: Context): void {
  if (capabilities.extendedCard !== true || Object.keys(securitySchemes).length > 0) return
  const hasCredentials = settings.text('bearer') !== undefined || settings.text('api-key') !== undefined
  if (!hasCredentials) return
  throw new CliError('A2ACLI_ERR_AUTH_FAILED', `${name} declares no security scheme, so it gets no credentials.`, {
    hint: 'The card must declare a scheme for its extended card.',
  })
}

/** Keys come from `--jwks`, or from the origin of the card itself if the signature names a key set there. */
export async function signatureOf(wire: JsonObject, { settings }: Context): Promise<string> {
  const { verifySignature } = await import('../../conformance/doctor/check-signature.ts')
  const jwks = settings.text('jwks')
  if (jwks !== undefined && !/^https?:/.test(jwks)) {
    return await verifySignature(wire, { keys: () => readKeys(jwks) })
  }
  const { readAgentReference } = await import('../agent-reference.ts')
  const { type, url } = readAgentReference(settings.text('agent-card') ?? '')
  return await verifySignature(wire, { jwks, origin: type === 'url' ? new URL(url).origin : undefined })
}

async function readKeys(path: string) {
  const { readFile } = await import('node:fs/promises')
  const document = JSON.parse(await readFile(path, 'utf8'))
  return isObject(document) && Array.isArray(document.keys) ? document.keys : [document]
}

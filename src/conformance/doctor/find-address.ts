import type { AgentInterface } from '../../core/protocol/card.ts'
import type { A2AError } from '../../core/protocol/errors.ts'
import { attempt, getTask, isNotFound, type ProbeOptions } from './interface-calls.ts'

/** Paths at which agents are often mounted. */
const commonPaths = [
  '/',
  '/a2a',
  '/a2a/',
  '/rpc',
  '/jsonrpc',
  '/a2a/jsonrpc',
  '/api/a2a',
  '/a2a/v1',
  '/v1',
  '/rest',
  '/a2a/rest',
]

/** Failures after which the agent may still be at another address, or speak another version. */
const misplaced: ReadonlySet<string> = new Set([
  ...['wrong-path', 'html', 'not-json', 'not-a2a', 'redirected', 'connection-refused', 'name-not-found'],
  ...['not-tls', 'needs-https', 'guarded'],
])

/** Searches the address or version at which the agent does answer. Returns what to change, if there is one. */
export async function findAddress(
  each: AgentInterface,
  { reason = '', code }: A2AError,
  options: ProbeOptions,
): Promise<string | undefined> {
  const isOtherVersion = code === 'method-not-found' || code === 'version-not-supported'
  if (isOtherVersion || misplaced.has(reason)) {
    const version = await findVersion(each, options)
    if (version !== undefined) return `The agent speaks ${version} at this address: write that version into the card.`
  }
  if (!misplaced.has(reason) || options.cardUrl === undefined || each.binding === 'GRPC') return undefined
  for (const url of candidatesOf(each, options.cardUrl)) {
    const moved = { ...each, url }
    // Credentials are only for the addresses that the card names.
    if (isNotFound(await attempt(() => getTask(moved, { ...options, providers: [] })))) {
      return `The agent answers at ${url}: write that address into the card.`
    }
  }
  return undefined
}

async function findVersion(each: AgentInterface, options: ProbeOptions): Promise<string | undefined> {
  const isCurrent = each.protocolVersion.startsWith('1.')
  // `tasks/get` is the same in all versions before 1.0.
  const [protocolVersion, name] = isCurrent ? ['0.3', 'A2A 0.3 or older'] : ['1.0', 'A2A 1.0']
  const answer = await attempt(() => getTask({ ...each, protocolVersion }, { ...options, providers: [] }))
  return isNotFound(answer) ? name : undefined
}

/** The same path on the origin of the card, the folder of the card, and common paths. */
function candidatesOf({ url }: AgentInterface, cardUrl: string): readonly string[] {
  const { origin, href } = new URL(cardUrl.replace(/\/\.well-known\/.*$/s, '/'))
  const path = URL.canParse(url) ? new URL(url).pathname : '/'
  const urls = [`${origin}${path}`, new URL('.', href).href, ...commonPaths.map((each) => `${origin}${each}`)]
  return [...new Set(urls)].filter((candidate) => candidate !== url)
}

import { defined, isObject, type Json, type JsonObject } from '../core/base/json.ts'
import type { A2AEntry, CardSummary, SkillInfo } from './entry.ts'
import type { CheckedCard } from './read-card.ts'

const maxNameLength = 300

const maxTextLength = 10_000

const maxTags = 100

export interface EntryContext {
  readonly now: number
  /** Whether the guarded fetch allows calls to this URL. */
  readonly mayCall: (url: string) => Promise<boolean>
  /** The stored entry that the new one replaces. */
  readonly previous?: A2AEntry | undefined
}

/** Creates the entry for a card that was just read. */
export async function createA2AEntry(id: string, checked: CheckedCard, context: EntryContext): Promise<A2AEntry> {
  const { card, cardUrl, etag, reachable, signature } = checked
  const { now, mayCall, previous } = context
  const endpoint = endpointOf(card)
  const isAllowed = endpoint === undefined || (await mayCall(endpoint))
  const forbidden = { ok: false, at: now, problem: 'The card names an address that this registry does not call.' }
  const conforms = isAllowed ? checked.conforms : forbidden
  const isChanged = previous === undefined || JSON.stringify(previous.card) !== JSON.stringify(card)
  const completed = previous?.sightings.completed
  return defined({
    kind: 'a2a',
    id,
    name: typeof card.name === 'string' ? card.name.slice(0, maxNameLength) : id,
    card,
    about: summaryOf(card),
    endpoint: endpoint ?? id,
    cardUrl,
    etag,
    added: previous?.added ?? now,
    changed: isChanged ? now : previous.changed,
    failures: 0, // An inline card in a catalog does not show that the agent is alive.
    seen: reachable ? now : (previous?.seen ?? now),
    trouble: !conforms.ok ? 'unusable' : undefined,
    sightings: defined({ reachable, conforms, signature, completed }),
  })
}

/** The first HTTP URL that the card names. */
function endpointOf({ url, supportedInterfaces }: JsonObject): string | undefined {
  const urls = [...list(supportedInterfaces).map((value) => (isObject(value) ? value.url : undefined)), url]
  return urls
    .filter((value) => typeof value === 'string')
    .find((value) => /^https?:/i.test(value) && URL.canParse(value))
}

/** These members have the same form in all A2A versions. */
function summaryOf(card: JsonObject): CardSummary {
  const { capabilities } = card
  const { extensions, ...flags } = isObject(capabilities) ? capabilities : {}
  const features = Object.keys(flags).filter((name) => flags[name] === true)
  const uris = list(extensions).flatMap((extension) =>
    isObject(extension) && typeof extension.uri === 'string' ? [extension.uri] : [],
  )
  return {
    description: text(card.description),
    version: text(card.version),
    skills: list(card.skills).filter(isObject).map(skillOf),
    features: [...features, ...uris].slice(0, maxTags),
  }
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : ''
}

function skillOf({ id, name, description, tags }: JsonObject): SkillInfo {
  const labels = list(tags).filter((tag) => typeof tag === 'string')
  return { id: text(id), name: text(name), description: text(description), tags: labels.slice(0, maxTags) }
}

import { isList, isObject, type JsonObject } from '../../core/base/json.ts'
import { A2AError } from '../../core/protocol/errors.ts'

/** Bytes of a catalog. */
const maxCatalog = 2 ** 22

/** Finds an entry of a catalog or a registry: the URL of its card, or the card itself. */
export async function readCatalogEntry(
  url: string,
  entry: string,
  fetch: (url: string, init: RequestInit) => Promise<Response>,
  signal: AbortSignal,
): Promise<string | JsonObject> {
  const response = await fetch(url, { headers: { accept: 'application/json' }, signal })
  const text = await response.text()
  if (!response.ok) throw noCatalog(url, `answered with HTTP status ${response.status}`)
  const document = text.length > maxCatalog ? undefined : parse(text)
  if (!isObject(document)) throw noCatalog(url, 'is no JSON document')
  // An entry of a registry has its card inside.
  if (isObject(document.card)) return document.card
  const entries = [document.entries, document.agents, document.items].flatMap((list) =>
    isList(list) ? [list.filter(isObject)] : [],
  )[0]
  if (!entries) throw noCatalog(url, 'has no entries')
  const found = entries.find((candidate) =>
    [candidate.identifier, candidate.displayName, candidate.name, candidate.id].includes(entry),
  )
  if (!found) {
    const names = entries
      .slice(0, 10)
      .map(({ identifier, displayName, name, id }) => displayName ?? name ?? identifier ?? id)
    throw noCatalog(url, `has no entry "${entry}". It has: ${names.join(', ')}`)
  }
  const inline = [found.data, found.inline, found.card].find(isObject)
  if (inline) return inline
  const address = [found.url, found.cardUrl].find((value) => typeof value === 'string')
  if (typeof address !== 'string') throw noCatalog(url, `names no card for "${entry}"`)
  return new URL(address, url).href
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function noCatalog(url: string, problem: string): A2AError {
  return new A2AError('invalid-agent-response', `The catalog ${url} ${problem}.`, { reason: 'card-not-found', url })
}

import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { usageError } from './errors.ts'

/** A reference to an agent: the URL to search its card at, a card file, or an entry of a catalog. */
export type AgentReference =
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'file'; readonly url: string }
  | { readonly type: 'catalog'; readonly url: string; readonly entry: string }

/** Reads `--agent-card`: a host, an origin, a URL, `file://…`, a path, or `catalog-url#entry`. */
export function readAgentReference(text: string): AgentReference {
  const ref = text.trim()
  if (ref === '') throw usageError('--agent-card is empty: expected a host, a URL or a card file.')
  if (/^file:/i.test(ref)) {
    if (!URL.canParse(ref)) throw usageError(`--agent-card: ${ref} is not a file URL.`)
    return { type: 'file', url: ref }
  }
  if (/^https?:\/\//i.test(ref)) return fromUrl(ref)
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(ref)) {
    throw usageError(`--agent-card: expected http, https or file, got ${ref}.`)
  }
  if (/^[./~\\]|^[a-z]:\\/i.test(ref) || (ref.endsWith('.json') && !ref.includes('/')) || existsSync(ref)) {
    return { type: 'file', url: pathToFileURL(ref).href }
  }
  const host = /^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d+)?([/#].*)?$/i.exec(ref)
  if (!host) throw usageError(`--agent-card: "${ref}" is no host, URL or file.`)
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(host[1] ?? '')
  return fromUrl(`${isLocal ? 'http' : 'https'}://${ref}`)
}

/** One text for all references to the same agent, to compare them. */
export function agentKey(text: string): string {
  try {
    const { url } = readAgentReference(text)
    return url
      .replace(/\/\.well-known\/[^/]*$/, '')
      .replace(/\/+$/, '')
      .toLowerCase()
  } catch {
    return text
  }
}

function fromUrl(text: string): AgentReference {
  if (!URL.canParse(text)) throw usageError(`--agent-card: ${text} is not a URL.`)
  const url = new URL(text)
  const entry = decodeURIComponent(url.hash.slice(1))
  url.hash = ''
  return entry === '' ? { type: 'url', url: url.href } : { type: 'catalog', url: url.href, entry }
}

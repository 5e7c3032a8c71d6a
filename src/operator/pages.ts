import { defined } from '../core/base/json.ts'
import type { Incoming, Outgoing } from '../core/http/exchange.ts'
import { matchesEtag } from '../core/http/response-headers.ts'
import { consolePath } from './options.ts'

/** A file of the built application. */
export interface ConsoleFile {
  readonly type: string
  readonly bytes: Uint8Array
  /** The same, compressed. Undefined if that does not make it shorter. */
  readonly gzip: Uint8Array | undefined
  readonly etag: string
}

/** The files of the built application, by their path below its folder. */
export interface ConsoleFiles {
  /** Undefined if there is no such file. */
  read(path: string): Promise<ConsoleFile | undefined>
}

/** Nothing but the application's own files runs, loads, connects or frames. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

const pageHeaders = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** Serves the application. Every path that is no file is a page of it, so that each page can be linked to. */
export function createPages(files: ConsoleFiles): (incoming: Incoming, prefix: string) => Promise<Outgoing> {
  /** Answers with the page of the application, whose addresses begin with the path of the server. */
  async function answerPage(incoming: Incoming, prefix: string): Promise<Outgoing> {
    const index = await files.read('index.html')
    if (!index) return notBuilt
    if (prefix === '') return fileAnswer(incoming, index, 'no-cache')
    const text = new TextDecoder().decode(index.bytes).replaceAll(`="${consolePath}/`, `="${prefix}${consolePath}/`)
    return {
      status: 200,
      headers: { ...pageHeaders, 'content-type': index.type, 'cache-control': 'no-cache' },
      body: text,
    }
  }

  return async (incoming, prefix) => {
    if (incoming.method !== 'GET' && incoming.method !== 'HEAD') {
      return textAnswer(405, 'This page can only be read.', { allow: 'GET, HEAD' })
    }
    const path = incoming.path.slice(consolePath.length + 1)
    const file = path === '' ? undefined : await files.read(path)
    // The names of assets have a hash of their content.
    if (file)
      return fileAnswer(incoming, file, path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    if (path.startsWith('assets/')) return textAnswer(404, 'There is no such file. Reload the page.')
    return await answerPage(incoming, prefix)
  }
}

function fileAnswer(incoming: Incoming, { type, bytes, gzip, etag }: ConsoleFile, cacheControl: string): Outgoing {
  const headers = { ...pageHeaders, 'cache-control': cacheControl, etag, vary: 'Accept-Encoding' }
  if (matchesEtag(incoming.header('if-none-match'), etag)) return { status: 304, headers }
  const isCompressed = gzip !== undefined && /\bgzip\b/.test(incoming.header('accept-encoding') ?? '')
  const content = isCompressed ? gzip : bytes
  return {
    status: 200,
    headers: {
      ...headers,
      'content-type': type,
      'content-length': `${content.length}`,
      ...defined({ 'content-encoding': isCompressed ? 'gzip' : undefined }),
    },
    body: once(content),
  }
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}

function textAnswer(status: number, text: string, headers: Outgoing['headers'] = {}): Outgoing {
  const type = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return { status, headers: { ...pageHeaders, ...type, ...headers }, body: text }
}

const notBuilt: Outgoing = textAnswer(
  503,
  'The console is not part of this installation of parley-a2a. In a checkout of the repository, run `npm run build`.\n' +
    'The operator API works without it: see docs/operator-api.md.\n',
)

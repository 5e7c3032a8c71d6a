import { decodeUtf8, JsonError, parseJsonText } from '../http/json-text.ts'
import { readLimited } from '../http/read-limited.ts'

/** An answer that is no stream, whatever it is. */
export interface Answer {
  readonly status: number
  /** Where it came from in the end. */
  readonly url: string
  readonly wasRedirected: boolean
  /** What it claims, or looks, to be. */
  readonly form: 'json' | 'empty' | 'html' | 'text'
  /** Of the form `json`. */
  readonly body: unknown
  /** How it begins, to be shown. */
  readonly excerpt: string
  /** The `WWW-Authenticate` of a refusal. */
  readonly challenge?: string
  readonly retryAfter?: number
}

export interface ReadAnswerOptions {
  /** Where it was asked for. */
  readonly url: string
  readonly answerLimit: number
  readonly jsonDepth: number
}

/** The status does not matter, nor what the body claims to be: agents tell errors in many ways. */
export async function readAnswer(response: Response, options: ReadAnswerOptions): Promise<Answer> {
  const { status, redirected, headers } = response
  const bytes = await readLimited(response.body, options.answerLimit)
  const about = {
    status,
    // The query may have credentials in it, which are to be shown to nobody.
    url: redirected ? response.url.replace(/[?#].*$/s, '') : options.url,
    wasRedirected: redirected,
    excerpt: excerptOf(bytes),
    ...optional('challenge', headers.get('www-authenticate')),
    ...optional('retryAfter', secondsOf(headers.get('retry-after'))),
  }
  if (isBlank(bytes)) return { ...about, form: 'empty', body: undefined }
  try {
    return { ...about, form: 'json', body: parseJsonText(decodeUtf8(bytes), { depth: options.jsonDepth }) }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const isHtml =
      headers.get('content-type')?.includes('html') || /^\s*<(!doctype|html|head|body)/i.test(about.excerpt)
    return { ...about, form: isHtml ? 'html' : 'text', body: undefined }
  }
}

function optional<K extends string, V>(name: K, value: V | null | undefined): { readonly [P in K]?: V } {
  return value === null || value === undefined ? {} : ({ [name]: value } as { readonly [P in K]?: V })
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function secondsOf(text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text.trim())) return Number(text)
  const seconds = (Date.parse(text) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

const lenient = new TextDecoder()

function excerptOf(bytes: Uint8Array): string {
  return lenient.decode(bytes.subarray(0, 300)).replace(/\s+/g, ' ').trim()
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d))
}

import { decodeUtf8, JsonError, parseJsonText } from '../http/json-text.ts'
import { readLimited } from '../http/read-limited.ts'

/** An answer that is no stream, whatever it is. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Where it came from in the end. */
  readonly url: string
  readonly wasRedirected: boolean
  readonly form: 'json' | 'empty' | 'other'
  /** Of the form `json`. */
  readonly body: unknown
  /** How it begins. */
  readonly start: Uint8Array
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
    headers,
    // The query may have credentials in it, which are to be shown to nobody.
    url: redirected ? response.url.replace(/[?#].*$/s, '') : options.url,
    wasRedirected: redirected,
    start: bytes.slice(0, 300),
  }
  try {
    const text = decodeUtf8(bytes)
    if (!/\S/.test(text)) return { ...about, form: 'empty', body: undefined }
    return { ...about, form: 'json', body: parseJsonText(text, { depth: options.jsonDepth }) }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { ...about, form: 'other', body: undefined }
  }
}

import type { Answer } from './read-answer.ts'

/** What there is to say of an answer that is not what was asked for. It is also what errors have as their cause. */
export interface ToldAnswer {
  readonly status: number
  readonly url: string
  readonly wasRedirected: boolean
  /** What it claims, or looks, to be. */
  readonly form: 'json' | 'empty' | 'html' | 'text'
  readonly body: unknown
  /** How it begins, to be shown. */
  readonly excerpt: string
  /** The `WWW-Authenticate` of a refusal. */
  readonly challenge?: string
  readonly retryAfter?: number
}

export function tellAnswer({ headers, start, form, ...answer }: Answer): ToldAnswer {
  const excerpt = new TextDecoder().decode(start).replace(/\s+/g, ' ').trim()
  const isHtml = headers.get('content-type')?.includes('html') || /^<(!doctype|html|head|body)/i.test(excerpt)
  const challenge = headers.get('www-authenticate')
  const retryAfter = secondsOf(headers.get('retry-after'))
  return {
    ...answer,
    form: form !== 'other' ? form : isHtml ? 'html' : 'text',
    excerpt,
    ...(challenge !== null && { challenge }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function secondsOf(text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text.trim())) return Number(text)
  const seconds = (Date.parse(text) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

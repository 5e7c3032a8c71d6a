import { isRefused, type Refusal } from '../http/guard/request-refused.ts'
import { readLimited } from '../http/read-limited.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { PushConfig } from '../protocol/service.ts'
import { randomHex } from './compose.ts'
import type { PushSettings } from './options.ts'

/** Throws unless deliveries to this webhook may be made, and could be. */
export type CheckConfig = (config: PushConfig, field?: string) => Promise<void>

const longest = { url: 2_048, secret: 8_192 }

export function createCheckConfig({ fetch, proveOwnership, timeout }: PushSettings): CheckConfig {
  async function check(url: string, field: string): Promise<void> {
    try {
      await fetch.check(url)
    } catch (error) {
      // Where a name leads is nobody's business who only knows the name.
      if (isRefused(error)) throw invalidParams(field, `may not be called: ${why[error.reason]} (${error.reason})`)
      throw invalidParams(field, 'its host cannot be found')
    }
  }

  /** A receiver that wants to be called repeats the word. */
  async function prove(url: string, field: string): Promise<void> {
    const word = randomHex(16)
    const asked = new URL(url)
    asked.searchParams.set('validationToken', word)
    const answer = await fetch(asked.href, { method: 'GET', signal: AbortSignal.timeout(timeout), redirect: 'error' })
      .then(async (response) => ({ ok: response.ok, bytes: await readLimited(response.body, 1_024) }))
      .catch(() => undefined)
    const isProven = answer?.ok === true && new TextDecoder().decode(answer.bytes).trim() === word
    if (!isProven) {
      throw invalidParams(field, 'its receiver must answer GET with the value of the query parameter validationToken')
    }
  }

  return async (config, field = 'url') => {
    const { url, token, authentication } = config
    if (url.length > longest.url) throw invalidParams(field, `expected at most ${longest.url} characters`)
    const of = (name: string) => field.replace(/url$/, name)
    requireHeaderValue(token, of('token'))
    requireHeaderValue(authentication?.credentials, of('authentication.credentials'))
    if (authentication?.credentials !== undefined && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(authentication.scheme)) {
      throw invalidParams(of('authentication.scheme'), 'expected the name of an HTTP scheme such as Bearer')
    }
    await check(url, field)
    if (proveOwnership) await prove(url, field)
  }
}

/** The words of callers become headers of ours. */
function requireHeaderValue(text: string | undefined, field: string): void {
  if (text === undefined) return
  const isFit = text.length <= longest.secret && /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
  if (!isFit) throw invalidParams(field, `expected at most ${longest.secret} characters that may stand in a header`)
}

const why: Readonly<Record<Refusal, string>> = {
  'bad-url': 'it is no URL',
  scheme: 'its scheme is not allowed here, use https',
  userinfo: 'it has credentials in it, give them as authentication',
  port: 'its port is one of another protocol than HTTP',
  metadata: 'it leads to where the keys of cloud machines are',
  loopback: 'it leads to this machine',
  private: 'it leads into a private network',
  'link-local': 'it leads into the local network',
  shared: 'it leads into the network of a carrier',
  multicast: 'it does not lead to one machine',
  unspecified: 'it leads to no machine',
  translated: 'its address hides another one',
  reserved: 'it does not lead into the public internet',
  redirect: 'it redirects',
  downgrade: 'it redirects away from TLS',
}

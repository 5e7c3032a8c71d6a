import { systemClock } from '../../protocol/clock.ts'
import type { CredentialProvider } from '../../protocol/credentials.ts'
import { pause } from '../pause.ts'
import { askForm, refusal, tryToken } from './ask-token.ts'
import { incomplete } from './endpoints.ts'
import { bare, type OAuthClient } from './oauth-client.ts'
import { type FlowStart, oauthProvider } from './oauth-provider.ts'
import type { Token } from './token-store.ts'

/** What somebody has to do somewhere else. */
export interface DevicePrompt {
  readonly userCode: string
  readonly verificationUri: string
  /** With the code in it. */
  readonly verificationUriComplete?: string
  readonly expiresAt: Date
}

export interface DeviceCodeOptions extends OAuthClient {
  /** Shows it to the user. Meanwhile it is waited for. */
  readonly onPrompt: (prompt: DevicePrompt) => void | Promise<void>
}

/** Tokens for a user who agrees on another device (RFC 8628). Give calls that wait for it a longer `timeout`. */
export function deviceCode(client: DeviceCodeOptions): CredentialProvider {
  return oauthProvider({ name: 'deviceCode', flow: 'device-code', client, obtain })
}

async function obtain(start: FlowStart, client: DeviceCodeOptions): Promise<Token> {
  const { fetch, scope, endpoints } = start
  const { deviceAuthorizationUrl: url, tokenUrl } = endpoints
  if (url === undefined) throw incomplete(bare(tokenUrl))
  const form = { client_id: client.clientId, ...(scope && { scope }) }
  const { body } = await askForm(fetch, url, client, form)
  const { device_code, user_code, verification_uri, verification_uri_complete } = body
  if (typeof device_code !== 'string' || typeof user_code !== 'string' || typeof verification_uri !== 'string') {
    throw refusal(url, body.error)
  }
  const expiresAt = Date.now() + Math.min(secondsOf(body.expires_in, 600), anHour) * 1000
  await client.onPrompt({
    userCode: user_code,
    verificationUri: verification_uri,
    expiresAt: new Date(expiresAt),
    ...(typeof verification_uri_complete === 'string' && { verificationUriComplete: verification_uri_complete }),
  })
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code }
  for (let interval = Math.max(1, secondsOf(body.interval, 5)); Date.now() < expiresAt; ) {
    await pause(interval * 1000, never, systemClock)
    const answer = await tryToken(fetch, tokenUrl, client, grant, ['authorization_pending', 'slow_down'])
    if (typeof answer !== 'string') return answer
    if (answer === 'slow_down') interval += 5
  }
  throw refusal(tokenUrl, 'expired_token')
}

const anHour = 3600
const never = new AbortController().signal

function secondsOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? value : otherwise
}

import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../core/base/json.ts'
import { A2AError } from '../core/protocol/errors.ts'
import {
  apiKeyCredentials,
  authorizationCode,
  bearer,
  type CredentialProvider,
  clientCredentials,
  deviceCode,
  type OAuthClient,
  type Token,
} from '../entries/client-auth.ts'
import type { Context } from './command.ts'
import { configFolder } from './settings.ts'

export type LoginFlow = 'device-code' | 'client-credentials' | 'authorization-code' | 'bearer' | 'api-key'

/** A login at one agent, as the file of credentials has it. */
export interface Login {
  readonly flow: LoginFlow
  readonly scheme: string
  /** The token or key of a login without OAuth. */
  readonly secret?: string
  readonly clientId?: string
  readonly issuer?: string
  readonly tokenUrl?: string
  readonly scopes?: readonly string[]
  /** Whether the client secret may go to the server that the card names. */
  readonly trustsCard?: boolean
  readonly tokens?: Readonly<Record<string, Token>>
}

export const credentialsFile = () => join(configFolder(), 'credentials.json')

/** All logins, by the key of their agent. */
export function readLogins(): Readonly<Record<string, Login>> {
  try {
    return JSON.parse(readFileSync(credentialsFile(), 'utf8')).agents ?? {}
  } catch {
    return {}
  }
}

/** Only the user may read the file. */
export function writeLogin(agent: string, login: Login | undefined): void {
  const { [agent]: _, ...others } = readLogins()
  const agents = login ? { ...others, [agent]: login } : others
  if (Object.keys(agents).length === 0) return void rmSync(credentialsFile(), { force: true })
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 })
  const temporary = `${credentialsFile()}.${process.pid}`
  writeFileSync(temporary, `${JSON.stringify({ agents }, undefined, 2)}\n`, { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, credentialsFile())
}

/** The credentials of an earlier login at this agent. Tokens are refreshed, but no user is asked. */
export function storedCredentials({ output }: Context, agent: string): readonly CredentialProvider[] {
  const login = readLogins()[agent]
  if (!login) return []
  output.hide(login.secret)
  for (const { accessToken, refreshToken } of Object.values(login.tokens ?? {})) {
    output.hide(accessToken)
    output.hide(refreshToken)
  }
  // Commands that call agents have no option for it: a secret belongs into the environment.
  const secret = process.env.A2ACLI_CLIENT_SECRET
  output.hide(secret)
  return [providerOf(login, agent, secret ? { clientSecret: secret } : {})]
}

export interface LoginOptions {
  readonly clientSecret?: string
  readonly onPrompt?: Parameters<typeof deviceCode>[0]['onPrompt']
  readonly redirectUri?: string
  readonly authorize?: (url: string) => Promise<string>
  /** Called with every token that is obtained or refreshed. */
  readonly onToken?: (token: Token) => void
}

/** The provider of a login. It keeps its tokens in the file. */
export function providerOf(login: Login, agent: string, options: LoginOptions = {}): CredentialProvider {
  const { flow, secret = '', clientId = '', issuer, tokenUrl, scopes, trustsCard } = login
  const tokens: Record<string, Token> = { ...login.tokens }
  const client: OAuthClient = {
    clientId,
    ...defined({
      issuer,
      tokenUrl,
      scopes,
      clientSecret: options.clientSecret,
      trustCard: trustsCard ? true : undefined,
    }),
    tokens: {
      load: (name) => tokens[name],
      save(name, token) {
        tokens[name] = token
        options.onToken?.(token)
        writeLogin(agent, { ...login, tokens })
      },
    },
  }
  switch (flow) {
    case 'bearer':
      return bearer(secret)
    case 'api-key':
      return apiKeyCredentials(secret)
    case 'device-code':
      return deviceCode({ ...client, onPrompt: options.onPrompt ?? expired })
    case 'client-credentials':
      return options.clientSecret === undefined
        ? onlyStored(clientCredentials(client), tokens)
        : clientCredentials(client)
    case 'authorization-code':
      return authorizationCode({
        ...client,
        redirectUri: options.redirectUri ?? 'http://127.0.0.1/callback',
        authorize: options.authorize ?? expired,
      })
  }
}

/** Without the secret of the client, only the stored token can be used. */
function onlyStored(provider: CredentialProvider, tokens: Readonly<Record<string, Token>>): CredentialProvider {
  const isValid = () => Object.values(tokens).some(({ expiresAt }) => expiresAt > Date.now())
  return {
    ...provider,
    credentialsFor: (need) => (isValid() && !need.refused ? provider.credentialsFor(need) : expired()),
  }
}

function expired(): never {
  throw new A2AError('unauthenticated', 'The login at this agent has expired.', {
    reason: 'credentials-missing',
    hint: 'Log in again: parley auth login.',
  })
}

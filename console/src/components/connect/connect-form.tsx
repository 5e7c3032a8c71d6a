import type { ConnectAnswer, ConnectCredentials, ForeignScheme } from 'parley-a2a/operator'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { connectTo } from '../../api/connections.ts'
import { consoleUrl } from '../../router/links.ts'
import { ActionButton } from '../action-button.tsx'
import { SecretInput } from '../secret-input.tsx'
import { messageOf, Notice } from '../states.tsx'
import './connect.css'

type CredentialType = ConnectCredentials['type'] | 'none'

const types: readonly (readonly [CredentialType, string])[] = [
  ['none', 'None'],
  ['bearer', 'Bearer token'],
  ['api-key', 'API key'],
  ['basic', 'User name and password'],
  ['oauth', 'OAuth 2 or OpenID Connect'],
]

interface ConnectFormProps {
  /** The agent, if it is connected already. */
  readonly agent?: { readonly url: string; readonly schemes: readonly ForeignScheme[] }
  /** The first value of the field. */
  readonly url?: string
  readonly onConnected: (answer: Extract<ConnectAnswer, { type: 'connected' }>) => void
}

/** A form for an agent of another server: its address, headers and credentials. Nothing of it is stored in the browser. */
export function ConnectForm({ agent, onConnected, ...rest }: ConnectFormProps) {
  const id = useId()
  const [url, setUrl] = useState(agent?.url ?? rest.url ?? '')
  const [type, setType] = useState<CredentialType>(firstType(agent?.schemes ?? []))
  const [user, setUser] = useState('')
  const [secret, setSecret] = useState('')
  const [clientId, setClientId] = useState('')
  const [scopes, setScopes] = useState('')
  const [headers, setHeaders] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const scheme = agent?.schemes.find((each) => each.type === type)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])

  async function submit(event: Event) {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      const credentials = credentialsOf()
      const answer = await connectTo({ url, headers: readHeaders(headers), ...(credentials && { credentials }) })
      setSecret('')
      if (answer.type === 'connected') onConnected(answer)
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }

  function credentialsOf(): ConnectCredentials | undefined {
    switch (type) {
      case 'none':
        return undefined
      case 'basic':
        return { type, user, secret }
      case 'oauth':
        return {
          type,
          clientId,
          scopes: scopes.split(/\s+/).filter((scope) => scope !== ''),
          ...(secret && { secret }),
        }
      default:
        return { type, secret }
    }
  }

  return (
    <form class="connect-form" onSubmit={submit} aria-label={agent ? `Connect to ${agent.url}` : 'Connect to an agent'}>
      {!agent && (
        <div class="field">
          <label for={`${id}-url`}>Address of the agent</label>
          <input
            id={`${id}-url`}
            ref={field}
            class="input"
            type="text"
            inputMode="url"
            required
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            placeholder="https://agent.example.com"
            value={url}
            onInput={(event) => setUrl(event.currentTarget.value)}
          />
        </div>
      )}
      <div class="field">
        <label for={`${id}-type`}>Credentials</label>
        <select
          id={`${id}-type`}
          class="input"
          value={type}
          onChange={(event) => setType(event.currentTarget.value as CredentialType)}
        >
          {types.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
              {agent?.schemes.some((each) => each.type === value) ? ' (named by the card)' : ''}
            </option>
          ))}
        </select>
        {scheme?.description && <p class="muted small breakable">{scheme.description}</p>}
      </div>
      {type === 'basic' && <TextField label="User name" value={user} onChange={setUser} isRequired />}
      {type === 'oauth' && (
        <>
          <TextField label="Client id" value={clientId} onChange={setClientId} isRequired />
          <TextField label="Scopes" value={scopes} onChange={setScopes} />
          <p class="muted small breakable">
            Register <code>{new URL('connected', consoleUrl).href}</code> as a redirect address of the client.
          </p>
        </>
      )}
      {type !== 'none' && (
        <div class="field">
          <label for={`${id}-secret`}>{secretLabels[type]}</label>
          <SecretInput id={`${id}-secret`} value={secret} onInput={setSecret} describedBy={`${id}-note`} />
          <p id={`${id}-note`} class="muted small">
            {type === 'oauth'
              ? `If the client has one. It is sent to ${scheme?.server ?? 'the token endpoint that the card names'}.`
              : 'It stays in the memory of parley console, and is sent as the card says.'}
          </p>
        </div>
      )}
      <details>
        <summary>Headers</summary>
        <div class="field">
          <label for={`${id}-headers`}>Headers of every request, one per line</label>
          <textarea
            id={`${id}-headers`}
            class="input mono"
            rows={3}
            spellcheck={false}
            placeholder="x-tenant: acme"
            value={headers}
            onInput={(event) => setHeaders(event.currentTarget.value)}
          />
        </div>
      </details>
      {problem && <Notice kind="error">{problem}</Notice>}
      <div class="form-actions">
        <ActionButton type="submit" kind="primary" isBusy={isBusy}>
          {isBusy ? 'Connecting…' : 'Connect'}
        </ActionButton>
      </div>
    </form>
  )
}

const secretLabels = {
  bearer: 'Token',
  'api-key': 'Key',
  basic: 'Password',
  oauth: 'Client secret',
} as const

function firstType(schemes: readonly ForeignScheme[]): CredentialType {
  const usable = schemes.find(({ type }) => type !== 'other')
  return usable && usable.type !== 'other' ? usable.type : 'none'
}

interface TextFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isRequired?: boolean
}

function TextField({ label, value, onChange, isRequired = false }: TextFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        type="text"
        required={isRequired}
        spellcheck={false}
        autocomplete="off"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  )
}

function readHeaders(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      if (colon < 1) throw new Error(`A header is a name, a colon and a value, not “${line.trim()}”.`)
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}

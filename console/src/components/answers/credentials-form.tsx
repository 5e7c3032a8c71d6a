import { useId, useState } from 'preact/hooks'
import { ActionButton } from '../action-button.tsx'
import { makeVisible } from '../code-block.tsx'
import { SecretInput } from '../secret-input.tsx'
import type { AnswerFormProps } from './answer.ts'

type CredentialType = 'token' | 'key' | 'basic'

const types: readonly { readonly id: CredentialType; readonly label: string; readonly field: string }[] = [
  { id: 'token', label: 'Bearer token', field: 'Token' },
  { id: 'key', label: 'API key', field: 'API key' },
  { id: 'basic', label: 'User name and password', field: 'Password' },
]

/** Credentials for a task that waits for them. The secrets leave the page with the request, and nothing keeps them. */
export function CredentialsForm({ question, onAnswer, isBusy = false }: AnswerFormProps) {
  const id = useId()
  const { schemes = [], urls = [] } = question
  const [scheme, setScheme] = useState(schemes[0] ?? '')
  const [type, setType] = useState<CredentialType>(typeOf(schemes[0] ?? ''))
  const [user, setUser] = useState('')
  const [secret, setSecret] = useState('')
  const { field } = types.find((each) => each.id === type) ?? { field: 'Token' }

  function submit(event: Event) {
    event.preventDefault()
    if (secret === '' || isBusy) return
    onAnswer({
      type: 'credentials',
      ...(scheme && { scheme }),
      secret: type === 'basic' ? base64(`${user}:${secret}`) : secret,
    })
    setSecret('')
  }

  return (
    <form class="answer" onSubmit={submit} autocomplete="off">
      <Links urls={urls} />
      {schemes.length > 1 && (
        <div class="field">
          <label for={`${id}-scheme`}>Scheme</label>
          <select
            id={`${id}-scheme`}
            class="input"
            value={scheme}
            onChange={({ currentTarget: { value } }) => {
              setScheme(value)
              setType(typeOf(value))
            }}
          >
            {schemes.map((name) => (
              <option key={name} value={name}>
                {makeVisible(name)}
              </option>
            ))}
          </select>
        </div>
      )}
      <div class="field">
        <label for={`${id}-type`}>Type of credentials{schemes.length === 1 && ` for ${makeVisible(scheme)}`}</label>
        <select
          id={`${id}-type`}
          class="input"
          value={type}
          onChange={({ currentTarget: { value } }) => setType(value as CredentialType)}
        >
          {types.map((each) => (
            <option key={each.id} value={each.id}>
              {each.label}
            </option>
          ))}
        </select>
      </div>
      {type === 'basic' && (
        <div class="field">
          <label for={`${id}-user`}>User name</label>
          <input
            id={`${id}-user`}
            class="input"
            type="text"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={user}
            onInput={(event) => setUser(event.currentTarget.value)}
          />
        </div>
      )}
      <div class="field">
        <label for={`${id}-secret`}>{field}</label>
        <SecretInput id={`${id}-secret`} value={secret} onInput={setSecret} describedBy={`${id}-help`} />
        <p id={`${id}-help`} class="field-help muted small">
          Goes to the agent only. Neither this page nor the server stores it.
        </p>
      </div>
      <div class="form-actions">
        <ActionButton type="submit" kind="primary" isBusy={isBusy}>
          Send credentials
        </ActionButton>
      </div>
    </form>
  )
}

/** Where to obtain the credentials. The addresses come from the agent. */
function Links({ urls }: { readonly urls: readonly string[] }) {
  const safe = urls.filter((url) => /^https?:\/\//i.test(url)).slice(0, 5)
  if (safe.length === 0) return null
  return (
    <p class="small">
      Get them at{' '}
      {safe.map((url) => (
        <a key={url} class="breakable" href={url} target="_blank" rel="noopener noreferrer nofollow">
          {makeVisible(url)}
        </a>
      ))}
    </p>
  )
}

/** Agents name schemes freely; most names say what they are. */
function typeOf(scheme: string): CredentialType {
  if (/basic|password/i.test(scheme)) return 'basic'
  return /key/i.test(scheme) ? 'key' : 'token'
}

/** As in the header `Authorization: Basic` (RFC 7617). */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

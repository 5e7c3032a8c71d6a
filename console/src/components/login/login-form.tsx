import type { LoginScheme } from 'parley-a2a/operator'
import { useId, useState } from 'preact/hooks'
import { logIn } from '../../api/session.ts'
import { messageOf, Notice } from '../states.tsx'
import './login.css'

/** A form for the credentials of an operator, by one of the schemes that the server accepts. */
export function LoginForm({ schemes }: { readonly schemes: readonly LoginScheme[] }) {
  const [name, setName] = useState(schemes[0]?.name)
  const [user, setUser] = useState('')
  const [secret, setSecret] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const scheme = schemes.find((candidate) => candidate.name === name) ?? schemes[0]
  if (!scheme) {
    return <Notice kind="warning">The server has no login. Open the address that it printed at its start.</Notice>
  }

  async function submit(event: Event) {
    event.preventDefault()
    if (!scheme || isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      const withUser = scheme.fields === 'password' && { user }
      await logIn({ scheme: scheme.name, ...withUser, ...(scheme.fields !== 'none' && { secret }) })
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }

  return (
    <form class="login-form" onSubmit={submit}>
      {schemes.length > 1 && (
        <fieldset class="login-schemes">
          <legend>Log in by</legend>
          {schemes.map((candidate) => (
            <label key={candidate.name} class="choice">
              <input
                type="radio"
                name="scheme"
                checked={candidate === scheme}
                onChange={() => setName(candidate.name)}
              />
              <bdi>{candidate.name}</bdi>
            </label>
          ))}
        </fieldset>
      )}
      {scheme.description && <p class="muted">{scheme.description}</p>}
      {scheme.fields === 'password' && (
        <Field label="User name" value={user} onChange={setUser} autoComplete="username" />
      )}
      {scheme.fields !== 'none' && (
        <Field
          label={scheme.fields === 'password' ? 'Password' : 'Token or key'}
          value={secret}
          onChange={setSecret}
          autoComplete="current-password"
          isSecret
        />
      )}
      {scheme.fields === 'none' && <p class="muted">Your browser sends its certificate. There is nothing to enter.</p>}
      {problem && <Notice kind="error">{problem}</Notice>}
      <button type="submit" class="button button-primary" aria-disabled={isBusy}>
        {isBusy ? 'Logging in…' : 'Log in'}
      </button>
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly autoComplete: string
  readonly isSecret?: boolean
}

function Field({ label, value, onChange, autoComplete, isSecret }: FieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        {...(isSecret ? { type: 'password' } : { type: 'text' })}
        required
        autocomplete={autoComplete}
        spellcheck={false}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  )
}

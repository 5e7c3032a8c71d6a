import type { LoginScheme } from 'parley-a2a/operator'
import { useEffect } from 'preact/hooks'
import { basePath } from '../../router/links.ts'
import { LoginForm } from './login-form.tsx'

/** Replaces the whole console until the operator has logged in. The address stays, so that deep links work. */
export function LoginPage({ schemes }: { readonly schemes: readonly LoginScheme[] }) {
  useEffect(() => {
    document.title = 'Log in · Parley console'
  }, [])
  return (
    <main class="login-page">
      <div class="login-card">
        <img src={`${basePath}icon.svg`} alt="" width="40" height="40" />
        <h1>Parley console</h1>
        <p class="muted">Log in to see and operate the agents of this server.</p>
        <LoginForm schemes={schemes} />
      </div>
    </main>
  )
}

import type { LoginScheme } from 'parley-a2a/operator'
import { Dialog } from '../dialog.tsx'
import { LoginForm } from './login-form.tsx'

/** Shown above the page when the session has ended, so that nothing on the page is lost. */
export function LoginDialog({ schemes }: { readonly schemes: readonly LoginScheme[] }) {
  return (
    <Dialog title="Your session has ended">
      <p class="muted">Log in again to continue. What you see and typed stays as it is.</p>
      <LoginForm schemes={schemes} />
    </Dialog>
  )
}

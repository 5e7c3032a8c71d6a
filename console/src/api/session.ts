import { computed, signal } from '@preact/signals'
import { type Feature, type Login, type LoginScheme, OperatorError, type Session } from 'parley-a2a/operator'
import { whenUnauthenticated } from './connection.ts'
import { operator } from './operator.ts'

export type SessionState =
  | { readonly type: 'loading' }
  /** The person has not logged in yet, so the login page replaces everything. */
  | { readonly type: 'login'; readonly schemes: readonly LoginScheme[] }
  | { readonly type: 'open'; readonly session: Session }
  /** The session ended while the console was in use. The page stays, below a dialog. */
  | { readonly type: 'expired'; readonly session: Session; readonly schemes: readonly LoginScheme[] }
  | { readonly type: 'failed'; readonly error: unknown }

export const sessionState = signal<SessionState>({ type: 'loading' })

/** The session, also after it has expired. */
export const session = computed(() => ('session' in sessionState.value ? sessionState.value.session : undefined))

/** Counts logins. Pages read their data anew when it changes. */
export const logins = signal(0)

export function startSession(): void {
  whenUnauthenticated(() => {
    if (sessionState.value.type === 'open') readSession()
  })
  readSession()
}

/** Reads the session, or learns how to log in. */
export async function readSession(): Promise<void> {
  try {
    open(await operator.session())
  } catch (error) {
    const isUnauthenticated = error instanceof OperatorError && error.status === 401
    const { value } = session
    if (!isUnauthenticated) sessionState.value = value ? sessionState.value : { type: 'failed', error }
    else if (value) sessionState.value = { type: 'expired', session: value, schemes: error.schemes }
    else sessionState.value = { type: 'login', schemes: error.schemes }
  }
}

export async function logIn(login: Login): Promise<void> {
  open(await operator.login(login))
  logins.value++
}

/** What the console stores in the browser about the agents. */
export const browserDatabase = 'parley-console'

/** Ends the session, and forgets what the browser has stored. */
export async function logOut(): Promise<void> {
  await operator.logout()
  indexedDB.deleteDatabase(browserDatabase)
  sessionState.value = { type: 'loading' }
  await readSession()
}

export function hasFeature(feature: Feature): boolean {
  return session.value?.server.features.includes(feature) ?? false
}

/** Why the person must not act; undefined if they may. */
export const reasonNotToAct = computed(() =>
  session.value?.role === 'viewer' ? 'Your role is viewer: you can read everything, but not act.' : undefined,
)

let expiryTimer: ReturnType<typeof setTimeout> | undefined

/** The longest delay of a browser's timer. */
const maxDelay = 2 ** 31 - 1

const principalKey = 'parley.principal'

/** Forgets what the browser has stored for another person. Returns whether there was one. */
function forgetOthers({ principal }: Session): boolean {
  const name = principal ? `${principal.tenant ?? ''} ${principal.id}` : ''
  const stored = localStorage.getItem(principalKey)
  localStorage.setItem(principalKey, name)
  if (stored === null || stored === name) return false
  indexedDB.deleteDatabase(browserDatabase)
  return true
}

function open(value: Session): void {
  // What the page shows belongs to the other person too.
  if (forgetOthers(value) && session.value) {
    location.reload()
    return
  }
  sessionState.value = { type: 'open', session: value }
  clearTimeout(expiryTimer)
  if (value.expires === undefined) return
  expiryTimer = setTimeout(readSession, Math.min(Math.max(value.expires - Date.now(), 0) + 500, maxDelay))
}

import { useEffect } from 'preact/hooks'
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router'
import { agentsState, loadAgents } from './api/agents.ts'
import { reconnections } from './api/connection.ts'
import { credentialsNeeded } from './api/connections.ts'
import { followInbox } from './api/inbox.ts'
import { hasFeature, readSession, sessionState } from './api/session.ts'
import { ErrorBoundary } from './components/error-boundary.tsx'
import { LoginDialog } from './components/login/login-dialog.tsx'
import { LoginPage } from './components/login/login-page.tsx'
import { Page } from './components/page.tsx'
import { Shell } from './components/shell/shell.tsx'
import { EmptyState, ErrorState, LoadingState } from './components/states.tsx'
import { lazyPage } from './router/lazy-page.tsx'
import { basePath, link } from './router/links.ts'
import { pages, startPage } from './router/pages.ts'

/** The console: a login page, or the shell with the page of the current address. */
export function App() {
  const state = sessionState.value
  switch (state.type) {
    case 'loading':
      return <LoadingState label="Connecting to the server" isWholePage />
    case 'failed':
      return <Unreachable error={state.error} />
    case 'login':
      return <LoginPage schemes={state.schemes} />
    case 'open':
    case 'expired':
      return (
        <LocationProvider scope={basePath}>
          <Console />
          {state.type === 'expired' && <LoginDialog schemes={state.schemes} />}
        </LocationProvider>
      )
  }
}

function Unreachable({ error }: { readonly error: unknown }) {
  const attempt = reconnections.value
  useEffect(() => {
    if (attempt > 0) readSession()
  }, [attempt])
  return <ErrorState error={error} title="The server cannot be reached" onRetry={readSession} isWholePage />
}

const CredentialsDialog = lazyPage(
  async () => (await import('./components/connect/credentials-dialog.tsx')).CredentialsDialog,
)

function Console() {
  const { url, route } = useLocation()
  const attempt = reconnections.value
  // Agents may have changed while the server was away
  useEffect(() => {
    loadAgents()
  }, [attempt])
  const hasInbox = hasFeature('history')
  useEffect(() => {
    if (hasInbox) return followInbox(({ agent, taskId }) => route(link('inbox', agent, taskId)))
  }, [hasInbox])
  return (
    <Shell>
      <ErrorBoundary resetKey={url}>
        <AgentsGate />
      </ErrorBoundary>
      {credentialsNeeded.value !== undefined && <CredentialsDialog />}
    </Shell>
  )
}

/** Pages can rely on the list of agents. */
function AgentsGate() {
  const state = agentsState.value
  if (state.type === 'loading') return <LoadingState label="Loading agents" />
  if (state.type === 'failed') return <ErrorState error={state.error} onRetry={loadAgents} />
  const hasAgents = state.agents.length > 0
  const shown = pages.filter(
    ({ feature, needsNoAgents }) => (hasAgents || needsNoAgents) && (feature === undefined || hasFeature(feature)),
  )
  if (shown.length === 0) {
    return <EmptyState title="No agents">This server serves no agents that the console can show.</EmptyState>
  }
  return (
    <Router>
      {shown.flatMap(({ paths, component }) =>
        paths.map((path) => <Route key={path} path={`${basePath}${path}`} component={component} />),
      )}
      <Route path={basePath} component={hasAgents ? StartPage : EmptyStart} />
      <Route default component={NotFound} />
    </Router>
  )
}

function StartPage() {
  const { route } = useLocation()
  useEffect(() => route(link(startPage), true), [route])
  return null
}

/** The start page of a server without agents. */
function EmptyStart() {
  const { route } = useLocation()
  useEffect(() => route(link(hasFeature('connect') ? 'connect' : 'registry'), true), [route])
  return null
}

function NotFound() {
  return (
    <Page title="Not found">
      <EmptyState title="There is no such page">
        The address may be mistyped, or belong to a page that this server does not have. <a href={link()}>Start page</a>
      </EmptyState>
    </Page>
  )
}

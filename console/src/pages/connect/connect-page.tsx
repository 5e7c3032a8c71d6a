import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agents } from '../../api/agents.ts'
import { credentialsNeeded, disconnect } from '../../api/connections.ts'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { ConnectForm } from '../../components/connect/connect-form.tsx'
import { Page } from '../../components/page.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { link } from '../../router/links.ts'
import './connect-page.css'

/** Connects to agents of other servers. Only `parley console` has this page. */
export function ConnectPage() {
  const { query, route } = useLocation()
  const [url, setUrl] = useState('')
  const { value } = useResource(() => operator.connections(), [agents.value.length])
  const connected = agents.value.filter(({ foreign }) => foreign)
  const recent = (value?.recent ?? []).filter(
    (each) => !connected.some(({ foreign }) => foreign?.reference === each.url),
  )
  return (
    <Page
      title="Connect to an agent"
      lead="Any agent that speaks A2A, in any version. This process calls it; the browser never sees your credentials."
    >
      <div class="connect">
        {query.problem && <Notice kind="error">{query.problem}</Notice>}
        <section class="card">
          <ConnectForm
            key={url}
            url={url}
            onConnected={({ agent, violations }) =>
              route(violations.length > 0 ? link('agents', agent) : link('chat', agent))
            }
          />
        </section>
        {connected.length > 0 && <Connected />}
        {recent.length > 0 && (
          <section class="card">
            <h2>Recent</h2>
            <ul class="plain connect-recent">
              {recent.map((agent) => (
                <li key={agent.url}>
                  <button type="button" class="button button-plain" onClick={() => setUrl(agent.url)}>
                    <bdi class="truncate">{agent.name ?? agent.url}</bdi>
                    {agent.name && <bdi class="muted small truncate">{agent.url}</bdi>}
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </Page>
  )
}

function Connected() {
  const [problem, setProblem] = useState<string>()
  const remove = (id: string) => disconnect(id).catch((error) => setProblem(messageOf(error)))
  return (
    <section class="card">
      <h2>Connected</h2>
      {problem && <Notice kind="error">{problem}</Notice>}
      <ul class="plain rows">
        {agents.value.map(({ id, name, url }) => (
          <li key={id} class="connect-agent">
            <a href={link('agents', id)}>
              <bdi>{name}</bdi>
            </a>
            <bdi class="muted small breakable">{url}</bdi>
            <span class="connect-agent-actions">
              <button type="button" class="button button-small" onClick={() => (credentialsNeeded.value = id)}>
                Change credentials
              </button>
              <button type="button" class="button button-small" onClick={() => remove(id)}>
                Disconnect
              </button>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agents, selectAgent, selectedAgent } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { useResource } from '../../api/use-resource.ts'
import { JsonBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Page } from '../../components/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { link } from '../../router/links.ts'
import { CardView } from './card-view.tsx'
import { CheckRun } from './check-run.tsx'
import './agent.css'

/** One agent: its card as people read it and as machines do, and the checks of its interfaces. */
export function AgentPage() {
  const { params } = useRoute()
  const { route } = useLocation()
  const agent = agents.value.find(({ id }) => id === params.agent) ?? (params.agent ? undefined : selectedAgent.value)
  const id = agent?.id ?? ''
  useEffect(() => {
    if (id) selectAgent(id)
  }, [id])
  if (!agent) return <EmptyState title="There is no such agent">It may have been removed from this server.</EmptyState>
  const tabs = [
    { id: 'card', label: 'Card' },
    { id: 'json', label: 'JSON' },
    ...(hasFeature('doctor') ? [{ id: 'doctor', label: 'Doctor' }] : []),
    ...(hasFeature('conformance') ? [{ id: 'conformance', label: 'Conformance' }] : []),
  ]
  const selected = tabs.find((tab) => tab.id === params.tab)?.id ?? 'card'
  return (
    <Page
      title={agent.name}
      lead={
        <span class="agent-address">
          <code class="breakable">{agent.url}</code> <CopyButton text={agent.url} label="Copy address" />
        </span>
      }
    >
      <Tabs
        label="Views of the agent"
        tabs={tabs}
        selected={selected}
        onSelect={(tab) => route(tab === 'card' ? link('agents', id) : link('agents', id, tab))}
      >
        {selected === 'doctor' && (
          <CheckRun
            key={id}
            name="doctor"
            title="Doctor"
            description="Calls every interface of the card and reports what callers would run into, with remedies."
            run={(signal) => operator.doctor(id, signal)}
          />
        )}
        {selected === 'conformance' && (
          <CheckRun
            key={id}
            name="conformance"
            title="Conformance"
            description="Checks the rules of the A2A specification, one by one, from outside. It creates tasks on the agent, and cancels those that stay open."
            run={(signal) => operator.conformance(id, signal)}
          />
        )}
        {(selected === 'card' || selected === 'json') && <Cards agent={id} isRaw={selected === 'json'} />}
      </Tabs>
    </Page>
  )
}

function Cards({ agent, isRaw }: { readonly agent: string; readonly isRaw: boolean }) {
  const { value, error, reload } = useResource(() => operator.cards(agent), [agent])
  const summary = agents.value.find(({ id }) => id === agent)
  if (error !== undefined && !value) return <ErrorState error={error} onRetry={reload} />
  if (!value || !summary) return <LoadingState label="Loading the card" />
  return isRaw ? <RawCards cards={value.cards} /> : <CardView agent={summary} cards={value} />
}

function RawCards({ cards }: { readonly cards: readonly { readonly version: string; readonly card: object }[] }) {
  const { query, path, route } = useLocation()
  const selected = cards.find(({ version }) => version === query.version) ?? cards[0]
  if (!selected) return <EmptyState title="No card">The agent has no card.</EmptyState>
  return (
    <Tabs
      label="Versions"
      tabs={cards.map(({ version }) => ({ id: version, label: `A2A ${version}` }))}
      selected={selected.version}
      onSelect={(version) => route(`${path}?version=${encodeURIComponent(version)}`)}
    >
      <JsonBlock value={selected.card} label={`Card of version ${selected.version}`} />
    </Tabs>
  )
}

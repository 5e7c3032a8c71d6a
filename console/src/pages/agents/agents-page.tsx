import type { AgentFigures, AgentSummary } from 'parley-a2a/operator'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agents } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { useResource } from '../../api/use-resource.ts'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { Ago } from '../../components/time.tsx'
import { link, linkWithQuery } from '../../router/links.ts'
import './agents.css'

const refreshAfter = 15_000

/** All agents of the server: how they are, what they did in the last hour, and what they can do. */
export function AgentsPage() {
  const { route } = useLocation()
  const [first, ...others] = agents.value
  const isOnly = first !== undefined && others.length === 0
  useEffect(() => {
    if (isOnly) route(link('agents', first.id), true)
  }, [isOnly])
  const hasFigures = hasFeature('overview')
  const { value, error, reload } = useResource(
    async () => (hasFigures ? await operator.overview('hour') : undefined),
    [],
  )
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), refreshAfter)
    return () => clearInterval(timer)
  }, [reload])
  if (isOnly) return null
  return (
    <Page title="Agents" lead={`${agents.value.length} agents of this server`}>
      {error !== undefined && <Notice kind="warning">{messageOf(error)}</Notice>}
      <ul class="plain agent-list">
        {agents.value.map((agent) => (
          <li key={agent.id}>
            <AgentCard agent={agent} figures={value?.agents.find((each) => each.agent === agent.id)} />
          </li>
        ))}
      </ul>
    </Page>
  )
}

const healths = {
  up: { label: 'Up', tone: 'ok' },
  draining: { label: 'Draining', tone: 'warning' },
  down: { label: 'Down', tone: 'bad' },
} as const

interface AgentCardProps {
  readonly agent: AgentSummary
  readonly figures: AgentFigures | undefined
}

function AgentCard({ agent, figures }: AgentCardProps) {
  const { id, name, description, version, protocolVersions = [], skills } = agent
  const health = figures && healths[figures.health]
  return (
    <article class="card agent-entry" aria-label={name}>
      <header>
        <h2>
          <a href={link('agents', id)}>
            <bdi class="breakable">{name}</bdi>
          </a>
        </h2>
        {health && <Badge tone={health.tone}>{health.label}</Badge>}
        {version && <span class="muted small">{version}</span>}
      </header>
      <p class="muted breakable agent-about">{description}</p>
      {figures && <Figures id={id} figures={figures} />}
      {protocolVersions.length > 0 && <p class="small">A2A {protocolVersions.join(', ')}</p>}
      {skills.length > 0 && (
        <ul class="plain agent-skills" aria-label={`Skills of ${name}`}>
          {skills.slice(0, maxSkills).map((skill) => (
            <li key={skill.id}>
              <Badge tone="neutral">{skill.name}</Badge>
            </li>
          ))}
          {skills.length > maxSkills && <li class="muted small">and {skills.length - maxSkills} more</li>}
        </ul>
      )}
      <footer>
        <a class="button button-small" href={link('chat', id)}>
          Chat
        </a>
        <a class="button button-small" href={linkWithQuery(['tasks'], { agent: id })}>
          Tasks
        </a>
      </footer>
    </article>
  )
}

const maxSkills = 6

/** What happened in the last hour, and what waits now. */
function Figures({ id, figures }: { readonly id: string; readonly figures: AgentFigures }) {
  const { points, tasks, stuck, lastActivity } = figures
  const sum = (name: 'started' | 'failed') => points.reduce((total, point) => total + point[name], 0)
  const waiting = (tasks['input-required'] ?? 0) + (tasks['auth-required'] ?? 0)
  const facts = [
    ['Started', sum('started'), { agent: id, since: 'hour' }],
    ['Failed', sum('failed'), { agent: id, since: 'hour', state: 'failing' }],
    ['Waiting', waiting, { agent: id, state: 'waiting' }],
    ['Stuck', stuck, { agent: id, state: 'stuck' }],
  ] as const
  return (
    <dl class="agent-figures">
      {facts.map(([label, count, filters]) => (
        <div key={label}>
          <dt class="muted small">{label}</dt>
          <dd>
            <a href={linkWithQuery(['tasks'], filters)}>{count.toLocaleString()}</a>
          </dd>
        </div>
      ))}
      <div>
        <dt class="muted small">Last activity</dt>
        <dd>{lastActivity === undefined ? 'none' : <Ago at={lastActivity} />}</dd>
      </div>
    </dl>
  )
}

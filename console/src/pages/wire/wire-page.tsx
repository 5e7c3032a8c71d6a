import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agents, selectAgent, selectedAgent } from '../../api/agents.ts'
import { Page } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { linkWithQuery } from '../../router/links.ts'
import { type Choice, WirePanel } from './wire-panel.tsx'
import './wire.css'

/** Raw requests to an agent in any version and binding, one or two side by side. */
export function WirePage() {
  const { params } = useRoute()
  const { query, route } = useLocation()
  const agent = agents.value.find(({ id }) => id === params.agent) ?? (params.agent ? undefined : selectedAgent.value)
  const id = agent?.id ?? ''
  useEffect(() => {
    if (id) selectAgent(id)
  }, [id])
  if (!agent) return <EmptyState title="There is no such agent">It may have been removed from this server.</EmptyState>
  const left = readChoice(query.left ?? '1.0 JSONRPC')
  const right = query.right === undefined ? undefined : readChoice(query.right)
  const open = (first: Choice, second: Choice | undefined) =>
    route(linkWithQuery(['wire', id], { left: writeChoice(first), right: second && writeChoice(second) }), true)
  return (
    <Page
      title="Wire"
      lead="Compose a request as a client of a version would send it, edit it, and see the raw answer."
      actions={
        <label class="choice">
          <input
            type="checkbox"
            checked={right !== undefined}
            onChange={(event) =>
              open(left, event.currentTarget.checked ? { dialect: '0.3', binding: 'JSONRPC' } : undefined)
            }
          />
          Compare two
        </label>
      }
    >
      <div class={`wire ${right ? 'wire-two' : ''}`}>
        <WirePanel
          key={`left ${id}`}
          agent={id}
          name="First request"
          choice={left}
          onChoose={(choice) => open(choice, right)}
        />
        {right && (
          <WirePanel
            key={`right ${id}`}
            agent={id}
            name="Second request"
            choice={right}
            onChoose={(choice) => open(left, choice)}
          />
        )}
      </div>
    </Page>
  )
}

function readChoice(text: string): Choice {
  const [dialect, binding] = text.split(' ')
  return {
    dialect: dialect === '0.3' || dialect === '0.2' || dialect === '0.1' ? dialect : '1.0',
    binding: binding === 'REST' || binding === 'GRPC' ? binding : 'JSONRPC',
  }
}

function writeChoice({ dialect, binding }: Choice): string {
  return `${dialect} ${binding}`
}

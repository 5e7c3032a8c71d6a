import { currentVersion, protocolVersions, type WireRequest } from 'parley-a2a/operator'
import { useEffect, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agents, selectAgent, selectedAgent } from '../../api/agents.ts'
import { Page } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { link, linkWithQuery } from '../../router/links.ts'
import { interfacesOf, nearestInterface, type WireInterface } from './interfaces.ts'
import { WireLog } from './wire-log.tsx'
import { type Choice, isOperation, WirePanel } from './wire-panel.tsx'
import './wire.css'

const tabs = [
  { id: 'compose', label: 'Compose' },
  { id: 'log', label: 'Log' },
] as const

/** Raw requests to an agent: compose them, one or two side by side, or see all that the console has sent. */
export function WirePage() {
  const { params } = useRoute()
  const { query, route } = useLocation()
  const [draft, setDraft] = useState<WireRequest>()
  const agent = agents.value.find(({ id }) => id === params.agent) ?? (params.agent ? undefined : selectedAgent.value)
  const id = agent?.id ?? ''
  useEffect(() => {
    if (id) selectAgent(id)
  }, [id])
  if (!agent) return <EmptyState title="There is no such agent">It may have been removed from this server.</EmptyState>
  const selected = params.view === 'log' ? 'log' : 'compose'
  const interfaces = interfacesOf(agent)
  const left = readChoice(query.left ?? '', interfaces, query.leftText, query.leftTask)
  const right =
    query.right === undefined ? undefined : readChoice(query.right, interfaces, query.rightText, query.rightTask)
  const open = (first: Choice, second: Choice | undefined, isTyped = false) =>
    route(
      linkWithQuery(['wire', id], {
        left: writeChoice(first),
        leftText: textOf(first),
        leftTask: first.taskId,
        ...(second && { right: writeChoice(second), rightText: textOf(second), rightTask: second.taskId }),
      }),
      isTyped,
    )
  return (
    <Page
      title="Wire"
      lead={
        selected === 'log'
          ? 'What the console sent to agents and what came back, without credentials.'
          : 'Compose a request as a client of a version would send it, edit it, and see the raw answer.'
      }
      actions={
        selected === 'compose' && (
          <label class="choice">
            <input
              type="checkbox"
              checked={right !== undefined}
              onChange={(event) => open(left, event.currentTarget.checked ? otherThan(left, interfaces) : undefined)}
            />
            Compare two
          </label>
        )
      }
    >
      <Tabs
        label="Views of the wire"
        tabs={tabs}
        selected={selected}
        onSelect={(tab) => route(tab === 'log' ? link('wire', id, 'log') : link('wire', id))}
      >
        {selected === 'log' ? (
          <WireLog
            agent={id}
            exchange={params.exchange}
            onEdit={(request) => {
              setDraft(request)
              route(link('wire', request.agent))
            }}
          />
        ) : interfaces.length === 0 ? (
          <EmptyState title="No interface to call">
            The card names no interface over JSON-RPC or REST in a version of A2A that Parley knows.
          </EmptyState>
        ) : (
          <div class={`wire ${right ? 'wire-two' : ''}`}>
            <WirePanel
              key={`left ${id}`}
              agent={id}
              name="First request"
              choice={left}
              interfaces={interfaces}
              draft={draft?.agent === id ? draft : undefined}
              onDraftTaken={() => setDraft(undefined)}
              onChoose={(choice, isTyped) => open(choice, right, isTyped)}
            />
            {right && (
              <WirePanel
                key={`right ${id}`}
                agent={id}
                name="Second request"
                choice={right}
                interfaces={interfaces}
                onChoose={(choice, isTyped) => open(left, choice, isTyped)}
              />
            )}
          </div>
        )}
      </Tabs>
    </Page>
  )
}

const older = protocolVersions[protocolVersions.indexOf(currentVersion) + 1] ?? currentVersion

/** The second request of a comparison: an older version, if the agent speaks one. */
function otherThan(choice: Choice, interfaces: readonly WireInterface[]): Choice {
  const nearest = nearestInterface(interfaces, older, 'JSONRPC')
  return nearest ? { ...choice, dialect: nearest.version, binding: nearest.binding } : choice
}

const defaultText = 'Hello Parley'

function readChoice(text: string, interfaces: readonly WireInterface[], message = defaultText, taskId = ''): Choice {
  const [dialect = currentVersion, binding = 'JSONRPC', operation = ''] = text === '' ? [] : text.split(' ')
  const nearest = nearestInterface(interfaces, dialect, binding)
  return {
    dialect: nearest?.version ?? currentVersion,
    binding: nearest?.binding ?? 'JSONRPC',
    operation: isOperation(operation) ? operation : 'sendMessage',
    text: message,
    taskId,
  }
}

/** The usual operation and text are not part of the address. */
function writeChoice({ dialect, binding, operation }: Choice): string {
  return [dialect, binding, ...(operation === 'sendMessage' ? [] : [operation])].join(' ')
}

function textOf({ text }: Choice): string | undefined {
  return text === defaultText ? undefined : text
}

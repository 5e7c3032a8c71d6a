import { currentVersion, protocolVersions } from 'parley-a2a/operator'
import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agents, selectAgent, selectedAgent } from '../../api/agents.ts'
import { Page } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { linkWithQuery } from '../../router/links.ts'
import { type Choice, isOperation, WirePanel } from './wire-panel.tsx'
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
  const left = readChoice(query.left ?? '', query.leftText, query.leftTask)
  const right = query.right === undefined ? undefined : readChoice(query.right, query.rightText, query.rightTask)
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
      lead="Compose a request as a client of a version would send it, edit it, and see the raw answer."
      actions={
        <label class="choice">
          <input
            type="checkbox"
            checked={right !== undefined}
            onChange={(event) =>
              open(left, event.currentTarget.checked ? { ...left, dialect: older, binding: 'JSONRPC' } : undefined)
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
          onChoose={(choice, isTyped) => open(choice, right, isTyped)}
        />
        {right && (
          <WirePanel
            key={`right ${id}`}
            agent={id}
            name="Second request"
            choice={right}
            onChoose={(choice, isTyped) => open(left, choice, isTyped)}
          />
        )}
      </div>
    </Page>
  )
}

const older = protocolVersions[protocolVersions.indexOf(currentVersion) + 1] ?? currentVersion

const defaultText = 'Hello Parley'

function readChoice(text: string, message = defaultText, taskId = ''): Choice {
  const [dialect, binding, operation = ''] = text.split(' ')
  return {
    dialect: protocolVersions.find((version) => version === dialect) ?? currentVersion,
    binding: binding === 'REST' || binding === 'GRPC' ? binding : 'JSONRPC',
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

import type { JsonObject } from 'parley-a2a/client'
import type { TaskDetail } from 'parley-a2a/operator'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Notice } from '../../components/states.tsx'
import { link } from '../../router/links.ts'
import { textOf } from './event-text.ts'

/** Why a task failed: what its caller reads, and the error with its stack, which the log of the server has. */
export function FailureNotice({ detail }: { readonly detail: TaskDetail }) {
  const { agent, taskId, phase, task } = detail
  const { value } = useResource(() => operator.log({ agent, taskId }), [agent, taskId, phase])
  const line = value?.lines.findLast(({ fields }) => errorIn(fields) !== undefined)
  const error = line && errorIn(line.fields)
  const hint = line?.fields.hint
  const text = task.status.message ? textOf(task.status.message.parts) : ''
  return (
    <Notice kind="error">
      <p class="breakable failure-text">
        <strong>{phase === 'rejected' ? 'The agent rejected the task.' : 'The task failed.'}</strong>{' '}
        <bdi>{text.slice(0, maxText)}</bdi>
      </p>
      {error && (
        <details class="failure-stack" open>
          <summary class="small">{line?.message}</summary>
          <CodeBlock text={error} label="Error" maxHeight="small" />
          {typeof hint === 'string' && <p class="small muted">{hint}</p>}
          <a class="small" href={link('tasks', agent, taskId, 'log')}>
            Read the log
          </a>
        </details>
      )}
    </Notice>
  )
}

/** Characters of the status message. The messages of the task have the rest. */
const maxText = 2_000

/** The error of a log line as text: its message, its stack, and its causes. */
function errorIn({ error }: JsonObject): string | undefined {
  if (typeof error !== 'object' || error === null || Array.isArray(error)) return undefined
  const lines: string[] = []
  for (let each: unknown = error; isObject(each); each = each.cause) {
    const { name, message, stack } = each
    const title = typeof message === 'string' ? `${name}: ${message}` : `${name}`
    const trace = typeof stack === 'string' ? stack : ''
    // The stack begins with the title, unless the server leaves messages out of its log.
    const begins = trace.startsWith(`${name}`) || trace.includes(`${message}`)
    lines.push(
      `${lines.length > 0 ? 'Caused by ' : ''}${begins ? trace : [title, trace].filter((part) => part !== '').join('\n')}`,
    )
  }
  return lines.join('\n')
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

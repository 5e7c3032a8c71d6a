import type { TaskDetail } from 'parley-a2a/operator'
import { agents } from '../../api/agents.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { quoted } from '../../components/quoted.ts'
import { textOf } from './event-text.ts'

/** Buttons that copy what reads this task, and what sends its first message again, for other tools. */
export function CopyAs({ detail }: { readonly detail: TaskDetail }) {
  const url = agents.value.find(({ id }) => id === detail.agent)?.url
  if (url === undefined) return null
  const first = detail.task.history.find(({ role }) => role === 'user')
  const text = first ? textOf(first.parts) : undefined
  return (
    <details class="copy-as">
      <summary class="button">Copy as…</summary>
      <div class="copy-as-menu card">
        <CopyGroup title="Read this task" commands={readCommands(url, detail.taskId)} />
        {text !== undefined && <CopyGroup title="Send its message again" commands={sendCommands(url, text)} />}
      </div>
    </details>
  )
}

interface Commands {
  readonly curl: string
  readonly parley: string
  readonly typescript: string
}

function CopyGroup({ title, commands }: { readonly title: string; readonly commands: Commands }) {
  return (
    <fieldset>
      <legend class="small">{title}</legend>
      <CopyButton label="curl" text={commands.curl} />
      <CopyButton label="parley" text={commands.parley} />
      <CopyButton label="TypeScript" text={commands.typescript} />
    </fieldset>
  )
}

function readCommands(url: string, taskId: string): Commands {
  return {
    curl: curl(url, 'GetTask', { id: taskId }),
    parley: `npx parley-a2a task get ${quoted(taskId)} -a ${quoted(url)}`,
    typescript: [
      "import { connect } from 'parley-a2a/client'",
      '',
      `const agent = await connect(${JSON.stringify(url)})`,
      `console.log(await agent.task(${JSON.stringify(taskId)}).get())`,
    ].join('\n'),
  }
}

function sendCommands(url: string, text: string): Commands {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  return {
    curl: curl(url, 'SendMessage', { message }),
    parley: `npx parley-a2a send -a ${quoted(url)} ${quoted(text)}`,
    typescript: [
      "import { connect } from 'parley-a2a/client'",
      '',
      `const agent = await connect(${JSON.stringify(url)})`,
      `console.log((await agent.send(${JSON.stringify(text)})).text)`,
    ].join('\n'),
  }
}

function curl(url: string, method: string, params: object): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return `curl -s ${quoted(url)} -H 'content-type: application/json' -H 'A2A-Version: 1.0' -d ${quoted(body)}`
}

import type { ComposeRequest, WireBinding, WireFrame, WireRequest } from 'parley-a2a/operator'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { createFrameBatch } from '../../api/frame-batch.ts'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { nearestInterface, type WireInterface } from './interfaces.ts'
import { WireAnswer } from './wire-answer.tsx'
import { WireHistory } from './wire-history.tsx'

export interface Choice {
  readonly dialect: ComposeRequest['dialect']
  readonly binding: WireBinding
  readonly operation: string
  readonly text: string
  readonly taskId: string
}

interface WirePanelProps {
  readonly agent: string
  readonly name: string
  readonly choice: Choice
  readonly interfaces: readonly WireInterface[]
  /** An earlier request to edit and send again. */
  readonly draft?: WireRequest | undefined
  readonly onDraftTaken?: () => void
  /** `isTyped`: a person is writing, and the back button should not lead to every key. */
  readonly onChoose: (choice: Choice, isTyped?: boolean) => void
}

const operations = [
  ['sendMessage', 'Send a message'],
  ['streamMessage', 'Send and stream'],
  ['getTask', 'Get a task'],
  ['listTasks', 'List tasks'],
  ['cancelTask', 'Cancel a task'],
  ['subscribeToTask', 'Subscribe to a task'],
  ['createPushConfig', 'Create a webhook'],
  ['getPushConfig', 'Get a webhook'],
  ['listPushConfigs', 'List the webhooks of a task'],
  ['deletePushConfig', 'Delete a webhook'],
  ['getExtendedCard', 'Get the extended card'],
] as const

export function isOperation(name: string): boolean {
  return operations.some(([operation]) => operation === name)
}

const needsTask: ReadonlySet<string> = new Set([
  ...['getTask', 'cancelTask', 'subscribeToTask'],
  ...['createPushConfig', 'getPushConfig', 'listPushConfigs', 'deletePushConfig'],
])
const needsConfig: ReadonlySet<string> = new Set(['getPushConfig', 'deletePushConfig'])
const needsText: ReadonlySet<string> = new Set(['sendMessage', 'streamMessage'])

/** A request that can be composed, edited and sent, and its answer as it arrives. */
export function WirePanel({ agent, name, choice, interfaces, draft, onDraftTaken, onChoose }: WirePanelProps) {
  const { dialect, binding, operation, text, taskId } = choice
  const [edited, setEdited] = useState<WireRequest>()
  const [webhook, setWebhook] = useState('https://example.com/webhook')
  const [configId, setConfigId] = useState('config')
  const [frames, setFrames] = useState<readonly WireFrame[]>([])
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const abort = useRef<AbortController>(null)
  const task = needsTask.has(operation) ? taskId || 'task-id' : undefined
  const composed = useResource(
    () =>
      operator.composeWire({
        agent,
        dialect,
        binding,
        operation,
        text,
        webhook,
        configId,
        ...(task && { taskId: task }),
      }),
    [agent, dialect, binding, operation, text, task, webhook, configId],
  )
  useEffect(() => setEdited(composed.value), [composed.value])
  const isComposed = composed.value !== undefined
  // The composed request comes first, and the earlier one replaces it
  useEffect(() => {
    if (!draft || !isComposed) return
    setEdited(draft)
    onDraftTaken?.()
  }, [draft, isComposed])
  useEffect(() => () => abort.current?.abort(), [])

  async function send() {
    if (!edited) return
    const controller = new AbortController()
    abort.current = controller
    setBusy(true)
    setProblem(undefined)
    setFrames([])
    const batch = createFrameBatch<WireFrame>((received) => setFrames((old) => [...old, ...received]))
    try {
      for await (const { value } of operator.sendWire(edited, controller.signal)) batch.add(value)
      batch.flush()
    } catch (error) {
      batch.flush()
      if (!controller.signal.aborted) setProblem(messageOf(error))
    }
    setBusy(false)
  }

  const versions = [...new Set(interfaces.map(({ version }) => version))]
  const bindings = interfaces.filter(({ version }) => version === dialect).map((each) => each.binding)
  return (
    <section class="wire-panel" aria-label={name}>
      <div class="wire-choices">
        <Select
          label="Version"
          value={dialect}
          options={versions.map((value) => [value, `A2A ${value}`])}
          onChange={(value) => {
            const nearest = nearestInterface(interfaces, value, binding)
            if (nearest) onChoose({ ...choice, dialect: nearest.version, binding: nearest.binding })
          }}
        />
        <Select
          label="Binding"
          value={binding}
          options={bindings.map((value) => [value, bindingNames[value]])}
          onChange={(value) => onChoose({ ...choice, binding: value as WireBinding })}
        />
        <Select
          label="Operation"
          value={operation}
          options={operations}
          onChange={(value) => onChoose({ ...choice, operation: value })}
        />
        {needsText.has(operation) && (
          <TextInput label="Text" value={text} onChange={(value) => onChoose({ ...choice, text: value }, true)} />
        )}
        {task !== undefined && (
          <TextInput
            label="Task id"
            value={taskId}
            onChange={(value) => onChoose({ ...choice, taskId: value }, true)}
          />
        )}
        {operation === 'createPushConfig' && (
          <TextInput label="Address of the webhook" value={webhook} onChange={setWebhook} />
        )}
        {needsConfig.has(operation) && <TextInput label="Webhook id" value={configId} onChange={setConfigId} />}
      </div>
      {composed.error !== undefined && <Notice kind="error">{messageOf(composed.error)}</Notice>}
      {edited && <RequestEditor request={edited} onChange={setEdited} />}
      <div class="form-actions">
        <ActionButton
          kind="primary"
          onClick={send}
          isBusy={isBusy}
          reason={edited ? undefined : 'There is no request yet.'}
        >
          <Icon name="send" /> Send
        </ActionButton>
        {isBusy && (
          <button type="button" class="button" onClick={() => abort.current?.abort()}>
            <Icon name="stop" /> Stop
          </button>
        )}
        {edited !== composed.value && composed.value && (
          <button type="button" class="button button-plain" onClick={() => setEdited(composed.value)}>
            Undo edits
          </button>
        )}
      </div>
      {problem && <Notice kind="error">{problem}</Notice>}
      {frames.length > 0 && <WireAnswer frames={frames} />}
      <WireHistory agent={agent} isSending={isBusy} onSelect={setEdited} />
    </section>
  )
}

const bindingNames: Readonly<Record<WireBinding, string>> = { JSONRPC: 'JSON-RPC', REST: 'REST', GRPC: 'gRPC' }

interface SelectProps {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChange: (value: string) => void
}

function Select({ label, value, options, onChange }: SelectProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, title]) => (
          <option key={option} value={option}>
            {title}
          </option>
        ))}
      </select>
    </div>
  )
}

interface TextInputProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

function TextInput({ label, value, onChange }: TextInputProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} class="input" type="text" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
    </div>
  )
}

function RequestEditor({
  request,
  onChange,
}: {
  readonly request: WireRequest
  readonly onChange: (request: WireRequest) => void
}) {
  const id = useId()
  const [headers, setHeaders] = useState(headerText(request.headers))
  useEffect(() => setHeaders(headerText(request.headers)), [request.binding, request.method, request.url])
  return (
    <div class="wire-request">
      <div class="wire-line">
        {request.binding !== 'GRPC' && (
          <div class="field wire-method">
            <label for={`${id}-method`}>Method</label>
            <select
              id={`${id}-method`}
              class="input"
              value={request.method}
              onChange={(event) => onChange({ ...request, method: event.currentTarget.value })}
            >
              {['GET', 'POST', 'PUT', 'DELETE'].map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
          </div>
        )}
        <TextInput
          label={request.binding === 'GRPC' ? 'Method' : 'Address'}
          value={request.url}
          onChange={(url) => onChange({ ...request, url })}
        />
      </div>
      <div class="field">
        <label for={`${id}-headers`}>Headers</label>
        <textarea
          id={`${id}-headers`}
          class="input mono"
          rows={3}
          spellcheck={false}
          value={headers}
          onInput={({ currentTarget: { value } }) => {
            setHeaders(value)
            onChange({ ...request, headers: readHeaders(value) })
          }}
        />
      </div>
      <div class="field">
        <label for={`${id}-body`}>Body</label>
        <textarea
          id={`${id}-body`}
          class="input mono"
          rows={12}
          spellcheck={false}
          value={request.body}
          onInput={(event) => onChange({ ...request, body: event.currentTarget.value })}
        />
      </div>
    </div>
  )
}

function headerText(headers: WireRequest['headers']): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function readHeaders(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').flatMap((line) => {
    const colon = line.indexOf(':')
    return colon > 0 ? [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const] : []
  })
  return Object.fromEntries(lines)
}

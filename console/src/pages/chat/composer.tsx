import type { Json, JsonObject, Part } from 'parley-a2a/client'
import type { AgentSummary } from 'parley-a2a/operator'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { agentClient } from '../../api/a2a.ts'
import { reasonNotToAct } from '../../api/session.ts'
import { useResource } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { safeFileName } from '../../components/parts/parts.tsx'
import { SchemaForm } from '../../components/schema-form/schema-form.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { formatBytes } from '../../components/time.tsx'
import type { Conversation, UserEntry } from './conversation.ts'
import type { Outgoing } from './conversations.ts'

interface ComposerProps {
  readonly agent: AgentSummary
  /** A message that could not be sent, to be edited. */
  readonly draft: UserEntry | undefined
  readonly activity: Conversation['activity']
  readonly onSend: (outgoing: Outgoing) => void
  readonly onCancel: () => void
}

/** Files together must fit into a request. */
const maxFileBytes = 7_000_000

/** Where a message is written: text with files, JSON, or the form of a skill. */
export function Composer(props: ComposerProps) {
  const { agent, activity, draft, onSend, onCancel } = props
  const [mode, setMode] = useState(jsonOf(draft) === undefined ? 'text' : 'json')
  const schemas = useSkillSchemas(agent.id)
  const schema = mode.startsWith('skill ') ? schemas[mode.slice(6)] : undefined
  const isBusy = activity === 'streaming' || activity === 'sending'
  const controls = (
    <>
      <label class="composer-mode">
        <span class="visually-hidden">Kind of message</span>
        <select class="input input-small" value={mode} onChange={(event) => setMode(event.currentTarget.value)}>
          <option value="text">Text and files</option>
          <option value="json">JSON</option>
          {agent.skills
            .filter(({ id }) => schemas[id])
            .map(({ id, name }) => (
              <option key={id} value={`skill ${id}`}>{`Form: ${name}`}</option>
            ))}
        </select>
      </label>
      {isBusy && (
        <ActionButton kind="danger" onClick={onCancel}>
          <Icon name="stop" /> Cancel
        </ActionButton>
      )}
    </>
  )
  return (
    <section class="composer" aria-label="Message">
      {schema ? (
        <div class="composer-form">
          <SchemaForm
            key={mode}
            schema={schema}
            submitLabel="Send"
            onSubmit={(value) => onSend(skillMessage(mode.slice(6), value))}
          >
            {controls}
          </SchemaForm>
        </div>
      ) : (
        <TextComposer key={mode} {...props} isJson={mode === 'json'}>
          {controls}
        </TextComposer>
      )}
    </section>
  )
}

function skillMessage(skill: string, value: Json): Outgoing {
  return { parts: [{ data: value, mediaType: 'application/json' }], options: { skill } }
}

/** The URI of the extension by which cards declare the input of their skills. */
const typedSkills = 'https://parley.dev/ext/typed-skills/v1'

function useSkillSchemas(agent: string): Readonly<Record<string, JsonObject>> {
  const [schemas, setSchemas] = useState<Readonly<Record<string, JsonObject>>>({})
  useEffect(() => {
    let isCurrent = true
    agentClient(agent).then(
      ({ card }) => isCurrent && setSchemas(readSchemas(card.capabilities.extensions ?? [])),
      // The first message shows why the agent cannot be reached.
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [agent])
  return schemas
}

function readSchemas(extensions: readonly { readonly uri: string; readonly params?: JsonObject }[]) {
  const skills = extensions.find(({ uri }) => uri === typedSkills)?.params?.skills
  if (typeof skills !== 'object' || skills === null || Array.isArray(skills)) return {}
  const entries = Object.entries(skills as JsonObject).flatMap(([id, skill]) => {
    const input = typeof skill === 'object' && skill !== null ? (skill as JsonObject).input : undefined
    return typeof input === 'object' && input !== null ? [[id, input as JsonObject] as const] : []
  })
  return Object.fromEntries(entries)
}

interface TextComposerProps extends ComposerProps {
  readonly isJson: boolean
  /** Controls beside its own. */
  readonly children: ComponentChildren
}

function TextComposer({ agent, activity, draft, onSend, isJson, children }: TextComposerProps) {
  const id = useId()
  const picker = useRef<HTMLInputElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const accepted = useInputModes(agent.id)
  const [text, setText] = useState(() => (isJson ? (jsonOf(draft) ?? '{\n  \n}') : textOf(draft)))
  const [files, setFiles] = useState<readonly File[]>(() => (isJson ? [] : filesOf(draft)))
  useEffect(() => {
    if (draft) field.current?.focus()
  }, [draft])
  const [problem, setProblem] = useState<string>()
  const [isOver, setOver] = useState(false)

  function addFiles(list: FileList | null | undefined) {
    const added = [...files, ...(list ?? [])]
    const refused = added.find(({ type }) => !isAccepted(type, accepted))
    if (refused) {
      return setProblem(
        `${agent.name} does not accept ${safeFileName(refused.name)} (${refused.type}). It accepts ${accepted.join(', ')}.`,
      )
    }
    const bytes = added.reduce((sum, { size }) => sum + size, 0)
    const isTooLarge = bytes > maxFileBytes
    setProblem(
      isTooLarge ? `The files have ${formatBytes(bytes)}; a message can have ${formatBytes(maxFileBytes)}.` : undefined,
    )
    if (!isTooLarge) setFiles(added)
  }

  async function submit(event?: Event) {
    event?.preventDefault()
    if (activity === 'sending' || (text.trim() === '' && files.length === 0)) return
    if (reasonNotToAct.value) return setProblem(reasonNotToAct.value)
    try {
      const parts = isJson
        ? [jsonPart(text)]
        : [...(text.trim() ? [{ text }] : []), ...(await Promise.all(files.map(filePart)))]
      onSend({ parts })
      setProblem(undefined)
      setFiles([])
      if (!isJson) setText('')
    } catch (error) {
      setProblem(isJson ? `This is not valid JSON: ${messageOf(error)}` : messageOf(error))
    }
  }

  return (
    <form
      class={`composer-text ${isOver ? 'composer-over' : ''}`}
      onSubmit={submit}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        if (!isJson) addFiles(event.dataTransfer?.files)
      }}
    >
      {problem && <Notice kind="error">{problem}</Notice>}
      <label class="visually-hidden" for={id}>
        {isJson ? 'JSON' : 'Message'}
      </label>
      <textarea
        id={id}
        ref={field}
        class={`input ${isJson ? 'mono' : ''}`}
        dir="auto"
        rows={isJson ? 6 : 2}
        spellcheck={!isJson}
        placeholder={isJson ? '' : 'Write a message. Enter sends, Shift+Enter starts a new line.'}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          const isSend = event.key === 'Enter' && (isJson ? event.ctrlKey || event.metaKey : !event.shiftKey)
          if (isSend && !event.isComposing) submit(event)
        }}
        onPaste={(event) => {
          if (isJson || !event.clipboardData?.files.length) return
          event.preventDefault()
          addFiles(event.clipboardData.files)
        }}
      />
      {files.length > 0 && (
        <ul class="plain composer-files" aria-label="Files">
          {files.map((file, index) => (
            <li key={index}>
              <bdi class="truncate">{safeFileName(file.name)}</bdi> <span class="muted">{formatBytes(file.size)}</span>
              <button
                type="button"
                class="button button-plain button-icon button-small"
                aria-label={`Remove ${safeFileName(file.name)}`}
                onClick={() => setFiles(files.toSpliced(index, 1))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="composer-actions">
        {children}
        <span class="composer-space" />
        {!isJson && (
          <>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              onChange={({ currentTarget }) => {
                addFiles(currentTarget.files)
                currentTarget.value = ''
              }}
            />
            <button
              type="button"
              class="button button-plain button-icon"
              aria-label="Attach files"
              title="Attach files. You can also drop or paste them."
              onClick={() => picker.current?.click()}
            >
              <Icon name="attach" />
            </button>
          </>
        )}
        <ActionButton type="submit" kind="primary">
          <Icon name="send" /> Send
        </ActionButton>
      </div>
    </form>
  )
}

/** The media types that the agent, or one of its skills, accepts. Empty if the card is not read yet. */
function useInputModes(agent: string): readonly string[] {
  const { value = [] } = useResource(async () => {
    const { card } = await agentClient(agent)
    return [...new Set([...(card.defaultInputModes ?? []), ...card.skills.flatMap((skill) => skill.inputModes ?? [])])]
  }, [agent])
  return value
}

/** As servers decide: a file without a type, and everything if the card declares nothing, is accepted. */
function isAccepted(type: string, accepted: readonly string[]): boolean {
  const name = type.split(';')[0]?.trim().toLowerCase() ?? ''
  if (name === '' || accepted.length === 0) return true
  const [family] = name.split('/')
  return accepted.some((mode) =>
    [name, `${family}/*`, '*/*', '*'].includes(mode.split(';')[0]?.trim().toLowerCase() ?? ''),
  )
}

function textOf(draft: UserEntry | undefined): string {
  return draft?.parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n') ?? ''
}

function jsonOf(draft: UserEntry | undefined): string | undefined {
  const part = draft?.parts.find((each) => 'data' in each)
  return part && 'data' in part ? JSON.stringify(part.data, null, 2) : undefined
}

function filesOf(draft: UserEntry | undefined): readonly File[] {
  return (draft?.parts ?? []).flatMap((part) => {
    if (!('raw' in part)) return []
    const bytes = Uint8Array.from(atob(part.raw), (character) => character.charCodeAt(0))
    return [new File([bytes], part.filename ?? 'file', { type: part.mediaType ?? '' })]
  })
}

function jsonPart(text: string): Part {
  return { data: JSON.parse(text) as Json, mediaType: 'application/json' }
}

async function filePart(file: File): Promise<Part> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  for (let start = 0; start < bytes.length; start += 32_768) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 32_768))
  }
  return { raw: btoa(binary), filename: file.name, ...(file.type !== '' && { mediaType: file.type }) }
}

import { signal } from '@preact/signals'
import { A2AError, type Client, type ClientEvent, type Part, type SendOptions } from 'parley-a2a/client'
import { agentClient } from '../../api/a2a.ts'
import { createFrameBatch } from '../../api/frame-batch.ts'
import type { QuestionAnswer } from '../../components/answers/answer.ts'
import { messageOf } from '../../components/states.tsx'
import { applyEvent, type Conversation, type Question, type UserEntry, withEntry } from './conversation.ts'
import { readConversations, removeConversation, removeExcess, writeConversation } from './conversation-storage.ts'

/** All conversations of this browser, the newest first; undefined until they are read. */
export const conversations = signal<readonly Conversation[] | undefined>(undefined)

/** Streams that this page reads, by conversation. */
const streams = new Map<string, AbortController>()

let isReading = false

/** Reads the stored conversations, and continues those whose agent was at work. */
export async function loadConversations(): Promise<void> {
  if (isReading) return
  isReading = true
  const stored = await readConversations()
  conversations.value = stored
  removeExcess(stored)
  for (const conversation of stored) resume(conversation)
}

/** Reads what has happened to waiting tasks, whose questions other operators may have answered. */
export function refreshWaiting(): void {
  for (const conversation of conversations.value ?? []) {
    if (conversation.activity === 'waiting' && !streams.has(conversation.id)) resume(conversation)
  }
}

export function createConversation(agent: string): Conversation {
  const id = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`
  const conversation: Conversation = {
    id,
    agent,
    title: 'New conversation',
    changed: Date.now(),
    activity: 'idle',
    entries: [],
  }
  conversations.value = [conversation, ...(conversations.value ?? [])]
  return conversation
}

export function closeConversation(id: string): void {
  streams.get(id)?.abort()
  conversations.value = conversations.value?.filter((conversation) => conversation.id !== id) ?? []
  removeConversation(id)
}

export interface Outgoing {
  readonly parts: readonly Part[]
  /** What the transcript shows instead of the parts, such as for credentials. */
  readonly shown?: readonly Part[]
  readonly options?: Pick<SendOptions, 'skill' | 'extensions'>
}

/** Sends a message and reads the answer into the conversation. */
export async function send(id: string, { parts, shown = parts, options }: Outgoing): Promise<void> {
  const messageId = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`
  update(id, (old) => ({
    ...withEntry(old, { type: 'user', id: messageId, parts: shown, canRepeat: shown === parts && !options?.skill }),
    title: old.entries.length === 0 ? titleOf(shown) : old.title,
    activity: 'sending',
  }))
  const current = find(id)
  if (!current) return
  const { contextId, taskId } = current
  await read(id, (client, signal) =>
    client.stream(parts, {
      ...options,
      messageId,
      signal,
      ...(contextId !== undefined && { contextId }),
      ...(taskId !== undefined && { taskId }),
    }),
  )
}

/** Answers a question. What was answered stays in its form; secrets are not kept. */
export function answerQuestion(id: string, question: Question, outgoing: Outgoing, answer: QuestionAnswer): void {
  const isSecret = question.request.sensitive === true || answer.type === 'credentials'
  if (!isSecret) update(id, (old) => withEntry(old, { ...question, answer }))
  send(id, outgoing)
}

/** Messages that could not be sent and are edited, by conversation. */
export const drafts = signal<Readonly<Record<string, UserEntry>>>({})

/** Takes a message that could not be sent back into the field where it was written. */
export function editMessage(id: string, message: UserEntry): void {
  update(id, (old) => ({ ...old, entries: old.entries.filter((entry) => entry.id !== message.id) }))
  drafts.value = { ...drafts.value, [id]: message }
}

/** Cancels the task of a conversation. */
export async function cancel(id: string): Promise<void> {
  const conversation = find(id)
  if (!conversation) return
  if (conversation.taskId === undefined) return streams.get(id)?.abort()
  try {
    const client = await agentClient(conversation.agent)
    const task = await client.task(conversation.taskId).cancel()
    update(id, (old) => applyEvent(old, { type: 'task', task }))
  } catch (error) {
    addProblem(id, error)
  }
}

/** Continues a stream after the last event that was stored. */
function resume(conversation: Conversation): void {
  const { id, taskId, generation, activity } = conversation
  if (activity === 'idle') return
  if (taskId === undefined) {
    update(id, (old) => ({ ...old, activity: 'idle' }))
    addProblem(id, new Error('The page was reloaded before the agent answered. Send the message again if needed.'))
    return
  }
  read(id, (client, signal) =>
    client.service.subscribeToTask(
      { taskId, includeEnded: true, ...(generation !== undefined && { after: generation }) },
      { principal: { id: 'anonymous' }, signal },
    ),
  )
}

type Open = (client: Client, signal: AbortSignal) => AsyncGenerator<ClientEvent>

/** Reads a stream into a conversation, with one change of the page per frame, however many events arrive. */
async function read(id: string, open: Open): Promise<void> {
  streams.get(id)?.abort()
  const abort = new AbortController()
  streams.set(id, abort)
  const batch = createFrameBatch<ClientEvent>((events) => update(id, (old) => events.reduce(applyEvent, old)))
  try {
    const client = await agentClient(find(id)?.agent ?? '')
    for await (const event of open(client, abort.signal)) batch.add(event)
    batch.flush()
    update(id, (old) => (old.activity === 'waiting' ? old : { ...old, activity: 'idle' }))
  } catch (error) {
    batch.flush()
    if (!abort.signal.aborted) addProblem(id, error)
    update(id, (old) => ({ ...old, activity: old.activity === 'waiting' ? 'waiting' : 'idle' }))
  } finally {
    if (streams.get(id) === abort) streams.delete(id)
  }
}

function addProblem(id: string, error: unknown): void {
  const hint = error instanceof A2AError && error.hint ? ` ${error.hint}` : ''
  update(id, (old) => {
    const last = old.entries.findLast(({ type }) => type === 'user')
    return last?.type === 'user' ? withEntry(old, { ...last, problem: messageOf(error) + hint }) : old
  })
}

function find(id: string): Conversation | undefined {
  return conversations.value?.find((conversation) => conversation.id === id)
}

function update(id: string, change: (old: Conversation) => Conversation): void {
  const before = find(id)
  conversations.value = conversations.value?.map((conversation) =>
    conversation.id === id ? { ...change(conversation), changed: Date.now() } : conversation,
  )
  unsaved.add(id)
  // A growing answer is written now and then, and everything else at once.
  if (before?.activity === 'streaming' && find(id)?.activity === 'streaming') saving ??= setTimeout(save, 300)
  else save()
}

const unsaved = new Set<string>()
let saving: ReturnType<typeof setTimeout> | undefined

function save(): void {
  clearTimeout(saving)
  saving = undefined
  for (const id of unsaved) {
    const conversation = find(id)
    if (conversation) writeConversation(conversation)
  }
  unsaved.clear()
}

addEventListener('pagehide', save)

function titleOf(parts: readonly Part[]): string {
  const text = parts
    .map((part) => ('text' in part ? part.text : ''))
    .join(' ')
    .trim()
  return (text || 'Data').slice(0, 60)
}

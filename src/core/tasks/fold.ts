import { defined } from '../base/json.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ArtifactEvent, StoredEvent, TaskEvent, TraceSize } from '../protocol/events.ts'
import {
  type Artifact,
  appendParts,
  isEmptyText,
  type Message,
  type Part,
  parseTimestamp,
  type Task,
  type TaskStatus,
} from '../protocol/model.ts'
import { isEnded, type Phase } from '../protocol/states.ts'
import type { NewTask, Snapshot, TaskHead, TaskLog } from './log.ts'
import { changesIn } from './revisions.ts'

/** Below this many events, refolding is cheaper than storing a snapshot. */
const minSnapshotEvents = 512

/** Number of events after which a growing task gets its first snapshot. */
const firstSnapshot = 1_024

/** Characters of artifacts beyond which a growing task gets no snapshot. */
const maxGrowingSnapshot = 2 * 2 ** 20

/** Characters that an event, a message or a part counts beside its content, when the cost of a snapshot is compared. */
const itemOverhead = 100

/** Number of pages after which other work gets a turn: some logs read without leaving the event loop. */
const pagesPerTurn = 16

/** The part of a log that folding needs. */
export type FoldedLog = Pick<TaskLog, 'head' | 'read' | 'wait' | 'snapshot' | 'keepSnapshot'>

/** The task as the sum of its events. It grows in place, so that the cost of an event does not depend on their number. */
export interface Fold {
  readonly generation: number
  readonly revision: number
  /** Undefined if the task has no trace. */
  readonly traceSize: TraceSize | undefined
  apply(stored: StoredEvent): void
  /** The current task. Undefined until the exchange becomes a task. */
  task(): Task | undefined
  /** All messages, oldest first, also before the exchange becomes a task. */
  messages(): readonly Message[]
  snapshot(): Snapshot
}

/**
 * Folds a task from its newest snapshot and the events after it. Stores a new snapshot if these were many. Throws
 * `unavailable` if more than `maxWaiting` readers wait for large tasks already.
 */
export async function loadFold(log: FoldedLog, task: NewTask, maxWaiting = Number.POSITIVE_INFINITY): Promise<Fold> {
  const { fold, snapshotAt, isOver, length } = await foldAll(log, task, maxWaiting)
  if (fold.generation - snapshotAt < minSnapshotEvents) return fold
  const snapshot = fold.snapshot()
  // Only if it is no longer than the events that were folded, so that the cost of snapshots per event is constant.
  if (isOver || lengthOf(snapshot) <= length) {
    await log.keepSnapshot(snapshot).catch(() => {}) // it only saves time: the task was read without it
  }
  return fold
}

/** Stores a snapshot of a task that grows, so that its next reader need not fold all of it. */
export async function keepSnapshot(log: FoldedLog, task: NewTask): Promise<void> {
  const fold = createFold(task, await log.snapshot(task.taskId))
  for (let length = 0, page = 1; ; page++) {
    const stored = await log.read(task.taskId, fold.generation)
    if (stored.length === 0) break
    for (const event of stored) {
      length += contentLength(event)
      fold.apply(event)
    }
    // A large task would fill the memory again and again while it grows. Its first reader stores the snapshot.
    if (length > maxGrowingSnapshot) return
    await yieldAfter(page)
  }
  await log.keepSnapshot(fold.snapshot())
}

/** About how many characters an event adds to its task. Every reader counts, so data counts only if it is measured. */
function contentLength({ event }: StoredEvent, measuresData = true): number {
  const content =
    event.type === 'artifact' ? event.artifact : event.type === 'status' ? event.status.message : undefined
  return content ? lengthOfParts(content, measuresData) : 0
}

/** About how many characters a snapshot takes in a log. */
function lengthOf({ artifacts, history }: Snapshot): number {
  let length = 0
  for (const content of artifacts) length += lengthOfParts(content)
  for (const content of history) length += lengthOfParts(content)
  return length
}

function lengthOfParts({ parts }: Pick<Message, 'parts'>, measuresData = true): number {
  let length = 0
  for (const part of parts) length += itemOverhead + partLength(part, measuresData)
  return length
}

function partLength(part: Part, measuresData: boolean): number {
  if ('text' in part) return part.text.length
  if ('raw' in part) return part.raw.length
  return 'data' in part && measuresData ? JSON.stringify(part.data).length : 0
}

/** The generation at which the next snapshot of a growing task is due. They double, so their cost per event is constant. */
export function nextSnapshotAfter(generation: number): number {
  return Math.max(firstSnapshot, 2 * generation)
}

/**
 * Folds a task up to a generation, from which a reader continues. For the first event, the fold is empty: the reader can
 * start there without a read.
 */
export async function foldUntil(log: FoldedLog, task: NewTask, last: number): Promise<Fold> {
  if (last === 1) return createFold(task)
  const snapshot = await log.snapshot(task.taskId)
  const fold = createFold(task, snapshot && snapshot.generation <= last ? snapshot : undefined)
  while (fold.generation < last) {
    const stored = await log.read(task.taskId, fold.generation)
    if (stored.length === 0) break
    for (const event of stored) if (event.generation <= last) fold.apply(event)
  }
  return fold
}

/**
 * A writable view of a readonly type, for the code that creates the object. Members that change are plain values, because
 * a getter in an object literal gives every object its own hidden class, and these objects are created per request.
 */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export function createFold({ taskId, contextId, owner }: NewTask, snapshot?: Snapshot): Fold {
  let status = snapshot?.status
  const history: Message[] = [...(snapshot?.history ?? [])]
  const artifacts = new Map<string, GrowingArtifact>()
  for (const artifact of snapshot?.artifacts ?? []) artifacts.set(artifact.artifactId, { artifact })

  /** A status message enters the history when it is replaced or answered, so that the history is in order of time. */
  function retireStatusMessage() {
    if (!status?.message) return
    history.push(status.message)
    status = withoutMessage(status)
  }

  const fold: Mutable<Fold> = {
    generation: snapshot?.generation ?? 0,
    revision: snapshot?.revision ?? 0,
    traceSize: snapshot?.traceSize,
    apply(stored) {
      fold.generation = stored.generation
      const { event } = stored
      if (event.traceChunk) fold.traceSize = event.traceChunk.total
      fold.revision = event.revision ?? fold.revision + changesIn(event)
      switch (event.type) {
        case 'message':
          retireStatusMessage()
          history.push(event.message)
          return
        case 'reply':
          if (event.message) history.push(event.message)
          return
        case 'status':
          retireStatusMessage()
          status = event.status
          return
        case 'artifact':
          addArtifact(artifacts, event)
          return
        case 'cancel':
        case 'journal':
          return
      }
    },
    task() {
      if (!status) return undefined
      const { generation, revision } = fold
      const parts = { artifacts: assemble(artifacts), history: [...history], generation, revision }
      return { id: taskId, contextId, ...splitStatus(status), ...parts }
    },
    messages: () => [...history],
    snapshot: () => ({
      taskId,
      contextId,
      owner,
      generation: fold.generation,
      revision: fold.revision,
      status,
      artifacts: assemble(artifacts),
      history: [...history],
      ...defined({ traceSize: fold.traceSize }),
    }),
  }
  return fold
}

/** Limits the history to the newest messages. Without a length, the history is complete. */
export function limitHistory(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined || task.history.length <= historyLength) return task
  return { ...task, history: historyLength === 0 ? [] : task.history.slice(-historyLength) }
}

/** The part of a head that changes with events. */
export interface HeadState {
  readonly generation: number
  readonly phase: TaskHead['phase']
  readonly status?: TaskStatus
  readonly changed: number
  readonly dialect?: string
}

/** The head of a task before its first event. */
export function initialHead(now: number): HeadState {
  return { generation: 0, phase: 'received' satisfies Phase, changed: now }
}

/** The head of a task after these events. Every log stores it beside the events. */
export function advanceHead(head: HeadState, events: readonly TaskEvent[], now: () => number = Date.now): HeadState {
  let { phase, status, changed, dialect } = head
  for (const event of events) {
    if (event.type === 'status') {
      phase = event.status.state
      status = event.status
      if (status.timestamp !== undefined) changed = parseTimestamp(status.timestamp)
    } else if (event.type === 'message') {
      // As in the fold: an answered status message belongs to the history.
      dialect = event.dialect ?? dialect
      status = status && withoutMessage(status)
    } else if (event.type === 'reply') {
      phase = 'answered'
      changed = now()
    }
  }
  return { generation: head.generation + events.length, phase, status, changed, dialect }
}

/** Whether the event only completes an artifact, without content. */
export function isClosing({ artifact, append, lastChunk }: Omit<ArtifactEvent, 'type'>): boolean {
  return append === true && lastChunk === true && artifact.parts.length === 0
}

/** The event as readers get it: an artifact on the wire needs a part. */
export function toClosingUpdate(event: ArtifactEvent): ArtifactEvent {
  return { ...event, artifact: { ...event.artifact, parts: [{ text: '' }] } }
}

/** Folds of tasks that are longer than a page and may be in memory at once. */
const maxLargeFolds = 4

let largeFolds = 0

/** Readers of large tasks that wait for others to finish. They hold nothing of their task. */
const waiting: (() => void)[] = []

async function foldAll(log: FoldedLog, task: NewTask, maxWaiting = Number.POSITIVE_INFINITY): Promise<FoldedPages> {
  const folded = await foldPages(log, task, false)
  if (folded) return folded
  if (largeFolds >= maxLargeFolds && waiting.length >= maxWaiting) {
    throw new A2AError('unavailable', 'Too many large tasks are being read just now: try again in a moment.', {
      retryAfter: 1,
      metadata: { reason: 'overload' },
    })
  }
  // A slot may have become free since, and then none of its owners would wake this reader.
  if (largeFolds < maxLargeFolds) largeFolds++
  else await new Promise<void>((resolve) => waiting.push(resolve))
  return (await foldPages(log, task, true)) as FoldedPages
}

interface FoldedPages {
  readonly fold: Fold
  readonly snapshotAt: number
  readonly isOver: boolean
  /** Of the events after the snapshot, in characters. */
  readonly length: number
}

/** Returns undefined if the task is large and the reader has no slot. A slot is released at the end. */
async function foldPages(log: FoldedLog, task: NewTask, ownsSlot: boolean): Promise<FoldedPages | undefined> {
  let hasSlot = ownsSlot
  const mayGrow = (): boolean => {
    hasSlot ||= largeFolds < maxLargeFolds && ++largeFolds > 0
    return hasSlot
  }
  try {
    const snapshot = await log.snapshot(task.taskId)
    if (snapshot && !mayGrow()) return undefined
    const fold = createFold(task, snapshot)
    let isOver = false
    let length = 0
    for (let page = 1; ; page++) {
      const stored = await log.read(task.taskId, fold.generation)
      if (stored.length === 0) return { fold, snapshotAt: snapshot?.generation ?? 0, isOver, length }
      if (page > 1 && !mayGrow()) return undefined
      for (const event of stored) {
        fold.apply(event)
        length += Math.max(itemOverhead, contentLength(event, false))
        isOver ||= endsTask(event)
      }
      await yieldAfter(page)
    }
  } finally {
    if (hasSlot) releaseSlot()
  }
}

function yieldAfter(page: number): Promise<void> | undefined {
  return page % pagesPerTurn === 0 ? new Promise<void>((resolve) => setTimeout(resolve, 0)) : undefined
}

/** Hands the slot to the reader that has waited longest. */
function releaseSlot(): void {
  const next = waiting.shift()
  if (next) next()
  else largeFolds--
}

function endsTask({ event }: StoredEvent): boolean {
  return event.type === 'reply' || (event.type === 'status' && isEnded(event.status.state))
}

/** The status of a task, and the metadata of the task that is stored with it. */
export function splitStatus(stored: TaskStatus): Pick<Task, 'status' | 'metadata'> {
  if (!stored.taskMetadata) return { status: stored }
  const { taskMetadata: metadata, ...status } = stored
  return { status, metadata }
}

/** The status after its message has moved to the history. */
export function withoutMessage({ message: _, ...status }: TaskStatus): TaskStatus {
  return status
}

interface GrowingArtifact {
  artifact: Artifact
  /** All parts, once chunks were appended. */
  parts?: Part[]
}

function addArtifact(artifacts: Map<string, GrowingArtifact>, { artifact, append, lastChunk }: ArtifactEvent): void {
  const growing = append ? artifacts.get(artifact.artifactId) : undefined
  if (!growing) {
    if (!isClosing({ artifact, append, lastChunk })) artifacts.set(artifact.artifactId, { artifact })
    return
  }
  // Other agents close an artifact by an empty text, which is not content.
  const content = lastChunk ? artifact.parts.filter((part) => !isEmptyText(part)) : artifact.parts
  growing.parts ??= [...growing.artifact.parts]
  appendParts(growing.parts, content)
  const { metadata, extensions } = artifact
  if (metadata) growing.artifact = { ...growing.artifact, metadata: { ...growing.artifact.metadata, ...metadata } }
  if (extensions) {
    const all = [...new Set([...(growing.artifact.extensions ?? []), ...extensions])]
    growing.artifact = { ...growing.artifact, extensions: all }
  }
}

function assemble(artifacts: ReadonlyMap<string, GrowingArtifact>): readonly Artifact[] {
  const all: Artifact[] = []
  for (const { artifact, parts } of artifacts.values()) all.push(parts ? { ...artifact, parts: [...parts] } : artifact)
  return all
}

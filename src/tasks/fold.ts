import type { ArtifactEvent, StoredEvent } from '../protocol/events.ts'
import type { Artifact, Message, Part, Task, TaskStatus } from '../protocol/model.ts'
import type { NewTask, Snapshot, TaskLog } from './log.ts'

/** So many events are cheaper to fold again than to keep a snapshot of. */
const worthKeeping = 512

/** What of a log is folded. */
export type FoldedLog = Pick<TaskLog, 'head' | 'read' | 'wait' | 'snapshot' | 'keepSnapshot'>

/**
 * The task as the sum of its events. It grows in place, so that an event costs the same however many came before it.
 */
export interface Fold {
  readonly generation: number
  apply(stored: StoredEvent): void
  /** The task so far. Undefined as long as the agent has made no task of the exchange. */
  task(): Task | undefined
  /** Every message so far, oldest first; also of an exchange that is no task. */
  messages(): readonly Message[]
  snapshot(): Snapshot
}

/** Folds a task from its newest snapshot and what came after; a reader who had to fold much leaves a new snapshot. */
export async function loadFold(log: FoldedLog, task: NewTask): Promise<Fold> {
  const snapshot = await log.snapshot(task.taskId)
  const fold = createFold(task, snapshot)
  for (;;) {
    const stored = await log.read(task.taskId, fold.generation)
    if (stored.length === 0) break
    for (const event of stored) fold.apply(event)
  }
  const folded = fold.generation - (snapshot?.generation ?? 0)
  // Only when it has doubled, so that keeping snapshots costs each event a constant share.
  if (folded >= worthKeeping && folded >= (snapshot?.generation ?? 0)) await log.keepSnapshot(fold.snapshot())
  return fold
}

/**
 * Everything up to a generation, as what comes after it is read on. The first event of a task has nothing before it, so
 * that reading may as well begin there.
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
 * An object as its maker sees it, while everybody else gets it readonly. Members that change are plain values and not
 * getters: a getter in an object literal is a hidden class of its own for every object, and these are made per request.
 */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export function createFold({ taskId, contextId, owner }: NewTask, kept?: Snapshot): Fold {
  let status = kept?.status
  const history: Message[] = [...(kept?.history ?? [])]
  const artifacts = new Map<string, Growing>()
  for (const artifact of kept?.artifacts ?? []) artifacts.set(artifact.artifactId, { artifact })

  /** The status message enters the history when something replaces or answers it, and so at its place in time. */
  function retireStatusMessage() {
    if (!status?.message) return
    history.push(status.message)
    status = withoutMessage(status)
  }

  const fold: Mutable<Fold> = {
    generation: kept?.generation ?? 0,
    apply(stored) {
      fold.generation = stored.generation
      const { event } = stored
      switch (event.type) {
        case 'message':
          retireStatusMessage()
          history.push(event.message)
          return
        case 'reply':
          history.push(event.message)
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
      const { generation } = fold
      return { id: taskId, contextId, status, artifacts: assembled(artifacts), history: [...history], generation }
    },
    messages: () => [...history],
    snapshot: () => ({
      taskId,
      contextId,
      owner,
      generation: fold.generation,
      status,
      artifacts: assembled(artifacts),
      history: [...history],
    }),
  }
  return fold
}

/** The status after its message has entered the history. */
export function withoutMessage({ message: _, ...status }: TaskStatus): TaskStatus {
  return status
}

interface Growing {
  artifact: Artifact
  /** All of its parts, once there are more than it came with. */
  parts?: Part[]
}

function addArtifact(artifacts: Map<string, Growing>, { artifact, append, lastChunk }: ArtifactEvent): void {
  const known = append ? artifacts.get(artifact.artifactId) : undefined
  if (!known) {
    artifacts.set(artifact.artifactId, { artifact })
    return
  }
  // The mark that closes an artifact needs a part on the wire; it is no content.
  const content = lastChunk ? artifact.parts.filter((part) => !isEmptyText(part)) : artifact.parts
  known.parts ??= [...known.artifact.parts]
  known.parts.push(...content)
  const { metadata } = artifact
  if (metadata) known.artifact = { ...known.artifact, metadata: { ...known.artifact.metadata, ...metadata } }
}

function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}

function assembled(artifacts: ReadonlyMap<string, Growing>): readonly Artifact[] {
  const all: Artifact[] = []
  for (const { artifact, parts } of artifacts.values()) all.push(parts ? { ...artifact, parts: [...parts] } : artifact)
  return all
}

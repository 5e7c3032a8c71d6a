import { effect, signal } from '@preact/signals'
import type { InboxChange, TaskRow } from 'parley-a2a/operator'
import { agentName } from './agents.ts'
import { connection, reconnections } from './connection.ts'
import { operator } from './operator.ts'
import { logins } from './session.ts'
import { taskName } from './task-name.ts'

/** How many tasks wait for a person, and how often that has changed. */
export const inbox = signal({ count: 0, version: 0 })

/** The server counts no further. */
export const maxInbox = 200

/** Milliseconds until a broken stream is opened again. */
const retryAfter = 1_000

/**
 * Follows the inbox for as long as the console is open. Browsers allow few connections to a server, so one of the open
 * pages follows it for all of them.
 */
export function followInbox(onOpen: (task: TaskRow) => void): () => void {
  const abort = new AbortController()
  const channel = new BroadcastChannel('parley-inbox')
  let last: InboxChange | undefined

  function apply(change: InboxChange): void {
    inbox.value = { count: change.count, version: inbox.value.version + 1 }
  }

  function receive(change: InboxChange): void {
    last = { ...change, added: [] }
    channel.postMessage(change)
    apply(change)
    // A person who looks at the console sees the number in it.
    if (document.hidden) for (const task of change.added.slice(0, maxNotifications)) notify(task, onOpen)
  }

  channel.onmessage = ({ data }: MessageEvent<InboxChange | 'hello'>) => {
    if (data !== 'hello') apply(data)
    else if (last) channel.postMessage(last)
  }
  channel.postMessage('hello')
  lead(abort.signal, () => readForever(receive, abort.signal)).catch(() => {}) // it was aborted
  return () => {
    abort.abort()
    channel.close()
  }
}

/** Runs the work in one of the open pages. Pages that are not served securely have no locks, and work each for itself. */
async function lead(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const { locks } = navigator as { readonly locks?: LockManager }
  await (locks ? locks.request('parley-inbox', { signal }, work) : work())
}

async function readForever(onChange: (change: InboxChange) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const { value } of operator.inboxChanges(signal)) onChange(value)
    } catch {
      // The watched fetch shows the lost connection or the expired session.
    }
    if (!signal.aborted) await nextTry(signal)
  }
}

/** Waits a moment, and until there is a server and a session. */
function nextTry(signal: AbortSignal): Promise<void> {
  const before = `${reconnections.value} ${logins.value}`
  return new Promise((resolve) => {
    const timer = setInterval(check, retryAfter)
    const stop = effect(() => {
      if (`${reconnections.value} ${logins.value}` !== before) end()
    })
    function check() {
      if (connection.value === 'online') end()
    }
    function end() {
      clearInterval(timer)
      resolve()
      queueMicrotask(() => stop())
    }
    signal.addEventListener('abort', end, { once: true })
  })
}

const maxNotifications = 3

/** Whether the browser may notify the person: `default` until they decide. */
export const notifications = signal<NotificationPermission | 'unsupported'>(
  'Notification' in globalThis ? Notification.permission : 'unsupported',
)

export async function allowNotifications(): Promise<void> {
  notifications.value = await Notification.requestPermission()
}

function notify(task: TaskRow, onOpen: (task: TaskRow) => void): void {
  if (notifications.value !== 'granted') return
  const { agent, taskId } = task
  const notification = new Notification(`${agentName(agent)} needs you`, {
    body: taskName(task),
    tag: `${agent} ${taskId}`,
  })
  notification.onclick = () => {
    focus()
    onOpen(task)
    notification.close()
  }
}

import type { StoredEvent } from '../../protocol/events.ts'
import type { Database } from './database.ts'
import type { Events } from './events.ts'
import type { Watch } from './watch.ts'

/** Reads from the database. Those who want the same at the same time, as all readers of a task do, ask it once. */
export type Reads = (taskId: string, after: number) => Promise<readonly StoredEvent[]>

export function createReads(db: Database, events: Events, watch: Watch): Reads {
  const underWay = new Map<string, Promise<readonly StoredEvent[]>>()

  async function ask(taskId: string, after: number): Promise<readonly StoredEvent[]> {
    const moment = watch.begin(taskId)
    const { page, last = 0 } = await db.patiently(() => events.read(taskId, after))
    watch.learn(taskId, moment, last)
    return page
  }

  return (taskId, after) => {
    // Not together with a read from before the last notification, which may not know what that told of.
    const key = `${after} ${watch.moment(taskId)} ${taskId}`
    const known = underWay.get(key)
    if (known) return known
    const asked = ask(taskId, after).finally(() => underWay.delete(key))
    underWay.set(key, asked)
    return asked
  }
}

import { openDurableObjectLog } from '../../../src/stores/durable-object/durable-object-log.ts'
import type { ObjectStorage } from '../../../src/stores/durable-object/object-database.ts'
import { taskLogContract } from '../../contracts/task-log.ts'
import { cases, runCase } from '../../support/workerd/vitest-in-worker.ts'

interface Storage extends ObjectStorage {
  deleteAll(): Promise<void>
}

let storage: Storage

taskLogContract(
  async () => {
    await storage.deleteAll()
    const log = openDurableObjectLog(storage)
    return { log, cleanup: () => log.close() }
  },
  { modelRuns: 10 },
)

/** Runs the contract of task logs on its own storage. */
export class TaskObject {
  constructor(state: { readonly storage: Storage }) {
    storage = state.storage
  }

  async fetch(request: Request): Promise<Response> {
    const index = Number(new URL(request.url).pathname.slice(1))
    const contract = cases[index]
    return Response.json(contract ? { failure: (await runCase(contract)) ?? null } : cases.map(({ name }) => name))
  }
}

interface Environment {
  readonly TASKS: { idFromName(name: string): never; get(id: never): { fetch(request: Request): Promise<Response> } }
}

export default {
  fetch: (request: Request, { TASKS }: Environment) => TASKS.get(TASKS.idFromName('contract')).fetch(request),
}

import { operatorLogTests, pushStoreTests, taskLogTests } from 'parley-a2a/testing/stores'
import { openDurableObjectLog } from '../../../src/stores/durable-object/durable-object-log.ts'
import type { ObjectStorage } from '../../../src/stores/durable-object/object-database.ts'
import { modelTests } from '../../contracts/task-log/model.ts'

interface Storage extends ObjectStorage {
  deleteAll(): Promise<void>
}

/** Runs the suites of task logs and webhook stores on its own storage. */
export class TaskObject {
  readonly #storage: Storage

  constructor(state: { readonly storage: Storage }) {
    this.#storage = state.storage
  }

  async #openLog() {
    await this.#storage.deleteAll()
    const log = openDurableObjectLog(this.#storage)
    return { log, cleanup: () => log.close() }
  }

  /** The cases, with what runs them. */
  #cases() {
    const createLog = async () => {
      const { log, cleanup } = await this.#openLog()
      return { open: async () => log, cleanup }
    }
    const createPushStore = async () => {
      const { log, cleanup } = await this.#openLog()
      return { open: async () => log.webhooks, cleanup }
    }
    return [
      ...[...taskLogTests, ...operatorLogTests, ...modelTests(10)].map(({ name, run }) => ({
        name,
        run: () => run(createLog),
      })),
      ...pushStoreTests.map(({ name, run }) => ({ name, run: () => run(createPushStore) })),
    ]
  }

  async fetch(request: Request): Promise<Response> {
    const cases = this.#cases()
    const testCase = cases[Number(new URL(request.url).pathname.slice(1))]
    if (!testCase) return Response.json(cases.map(({ name }) => name))
    const failure = await testCase.run().then(
      () => null,
      (error: Error) => error.stack ?? error.message,
    )
    return Response.json({ failure })
  }
}

interface Environment {
  readonly TASKS: { idFromName(name: string): never; get(id: never): { fetch(request: Request): Promise<Response> } }
}

export default {
  fetch: (request: Request, { TASKS }: Environment) => TASKS.get(TASKS.idFromName('contract')).fetch(request),
}

/** Empty storage for one test. Stores that are opened twice behave as in two processes, if they can be shared. */
export interface TestStorage<Store, Options = undefined> {
  open(options?: Options): Promise<Store>
  /** Closes the stores that the test left open, and removes the storage. */
  cleanup(): Promise<void>
}

/** One behaviour that a store must have, for any test runner: `test(name, () => run(createStorage))`. */
export interface StoreTest<Store, Options = undefined> {
  readonly name: string
  /** Rejects with what is wrong. Takes less than 20 seconds on storage that answers within milliseconds. */
  run(createStorage: () => Promise<TestStorage<Store, Options>>): Promise<void>
}

/** A test of one store. */
export function storeTest<Store, Options = undefined>(
  name: string,
  work: (store: Store) => Promise<void>,
  options?: Options,
): StoreTest<Store, Options> {
  return storageTest(name, async (storage) => work(await storage.open(options)))
}

/** A test that opens several stores on the same storage. */
export function storageTest<Store, Options = undefined>(
  name: string,
  work: (storage: TestStorage<Store, Options>) => Promise<void>,
): StoreTest<Store, Options> {
  return {
    name,
    async run(createStorage) {
      const storage = await createStorage()
      try {
        await work(storage)
      } finally {
        await storage.cleanup()
      }
    },
  }
}

export const sleep = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

/** Polls a condition until it holds. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  const within = 10_000
  const end = performance.now() + within
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`the condition did not hold within ${within} ms`)
    await sleep(10)
  }
}

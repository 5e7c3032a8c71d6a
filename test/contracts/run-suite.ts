import { test } from 'vitest'
import type { StoreTest, TestStorage } from '../../src/testing/stores/store-test.ts'

/** Runs a suite of `parley-a2a/testing/stores` in Vitest. */
export function runSuite<Store, Options = undefined>(
  tests: readonly StoreTest<Store, Options>[],
  createStorage: () => Promise<TestStorage<Store, Options>>,
  timeout = 20_000,
): void {
  for (const { name, run } of tests) test(name, () => run(createStorage), timeout)
}

/** Storage of stores that are closed after the test. */
export function closingStorage<Store extends { close(): unknown }, Options = undefined>(
  openStore: (options?: Options) => Promise<Store>,
  remove: () => Promise<unknown> = async () => {},
): TestStorage<Store, Options> {
  const opened: Store[] = []
  return {
    async open(options) {
      const store = await openStore(options)
      opened.push(store)
      return store
    },
    async cleanup() {
      for (const store of opened) await store.close()
      await remove()
    },
  }
}
